package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestOptionsThatMeanNothingAreRefusedByName(t *testing.T) {
	for name, o := range map[string]Options{
		"Dir": {}, "Writers": {Writers: -1}, "SyncWriters": {SyncWriters: -1}, "Descriptors": {Descriptors: -1},
		"RecoveryWorkers": {RecoveryWorkers: -1}, "SpaceSharers": {SpaceSharers: -1}, "MemoryBytes": {MemoryBytes: -1},
		"ReserveBytes": {ReserveBytes: -1}, "CheckpointBytes": {CheckpointBytes: -1}, "ProducerIDExpiration": {ProducerIDExpiration: -1},
		"SyncMethod": {SyncMethod: 9},
	} {
		if name != "Dir" {
			o.Dir = t.TempDir()
		}
		e, err := Open(o)
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "Options."+name+" is ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAConfigThatMeansNothingIsRefusedByCreateAndFilledBySetConfig(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	for name, c := range map[string]Config{
		"SegmentBytes": {SegmentBytes: -1}, "SegmentAge": {SegmentAge: -1}, "IndexBytes": {IndexBytes: -1}, "IndexInterval": {IndexInterval: -1},
		"FlushMessages": {FlushMessages: -1}, "FlushInterval": {FlushInterval: -1}, "Writer": {Writer: 9},
	} {
		if _, err := b.e.Create(Name{"other", 0}, [16]byte{}, c); err == nil || !strings.Contains(err.Error(), "Config."+name+" is ") {
			t.Errorf("%s: %v", name, err)
		}
		l.SetConfig(c)
		if got, want := l.Config(), *(Config{}).filled(); got != want {
			t.Errorf("%s: SetConfig makes it %+v", name, got)
		}
	}
}

func TestALogThatOpenFindsIsConfiguredAsItIsTold(t *testing.T) {
	b := newBench(t)
	b.fill(b.create("t", Config{FlushMessages: 1}), 3)
	b.restart()
	if l := b.log("t"); l.Config().FlushMessages != 0 {
		t.Errorf("a directory tells %+v", l.Config())
	}
	b.stop()
	b.opt.LogConfig = func(n Name) Config { return Config{FlushMessages: int64(len(n.Topic))} }
	b.open()
	if l := b.log("t"); l.Config().FlushMessages != 1 {
		t.Errorf("it is configured %+v", l.Config())
	}
	b.stop()
	good := b.opt.LogConfig
	b.opt.LogConfig = func(Name) Config { return Config{Writer: 9} }
	b.opt.FS = b.disk
	if e, err := Open(b.opt); err == nil || !strings.Contains(err.Error(), "LogConfig of t-0: Config.Writer is 9") {
		t.Errorf("%v, %v", e, err)
	}
	b.opt.LogConfig = good
	b.open()
}

func TestMetricsAreToldWhatHappens(t *testing.T) {
	for _, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			var appends, records, written, writes, flushes, read, checkpoints atomic.Int64
			b := newBench(t)
			b.stop()
			b.opt.Metrics = Metrics{
				Append:     func(n int, r int64) { appends.Add(int64(n)); records.Add(r) },
				Write:      func(n int, _ time.Duration) { writes.Add(1); written.Add(int64(n)) },
				Flush:      func(time.Duration) { flushes.Add(1) },
				Read:       func(n int) { read.Add(int64(n)) },
				Checkpoint: func(time.Duration) { checkpoints.Add(1) },
			}
			b.open()
			l := b.create("t", Config{Writer: h.writer})
			b.fill(l, 20)
			must(t, l.Flush())
			must(t, b.e.Checkpoint())
			for r, err := range l.Follow(context.Background(), 0) {
				if must(t, err); r.Offset == 19 {
					break
				}
			}
			if records.Load() != 20 || appends.Load() != l.Size() || written.Load() != l.Size() || writes.Load() == 0 || read.Load() != l.Size() {
				t.Errorf("%d records, %d bytes appended, %d bytes in %d writes, %d bytes read, of %d", records.Load(), appends.Load(),
					written.Load(), writes.Load(), read.Load(), l.Size())
			}
			if flushes.Load() != 1 || checkpoints.Load() != 1 {
				t.Errorf("%d flushes, %d checkpoints, want one of each", flushes.Load(), checkpoints.Load())
			}
		})
	}
}
