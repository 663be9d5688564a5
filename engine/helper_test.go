package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// A bench is an engine on a disk in memory, with a clock that stands still, and what opens it again.
type bench struct {
	t    *testing.T
	disk *fs.Crash
	opt  Options
	now  atomic.Int64 // ms
	e    *Engine
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, disk: crashDisk(1)}
	b.now.Store(testNow)
	b.opt = crashOptions(b.disk, ways[0])
	b.opt.CheckpointBytes = 0
	b.opt.StageBytes = -1 // what a writer does is seen when it has answered; staged_test.go and the crash tests have a stage
	b.opt.Now = func() time.Time { return time.UnixMilli(b.now.Load()) }
	b.open()
	t.Cleanup(func() { b.e.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	b.opt.FS = b.disk
	b.e = open(b.t, b.opt)
}

// stop ends the engine in order, and start opens it again.
func (b *bench) stop() {
	b.t.Helper()
	if err := b.e.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) restart() {
	b.t.Helper()
	b.stop()
	b.open()
}

// crash goes on with what a cut leaves. The engine before it is stopped, on a disk that is no longer looked at.
func (b *bench) crash(p fs.Policy) {
	b.t.Helper()
	left := b.disk.Clone(p)
	b.e.Close()
	b.disk = left
	b.open()
}

func (b *bench) create(topic string, c Config) *Log {
	b.t.Helper()
	l, err := b.e.Create(Name{topic, 0}, [16]byte{1}, c)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// log returns a log that is there and sound.
func (b *bench) log(topic string) *Log {
	b.t.Helper()
	l, ok := b.e.Log(Name{topic, 0})
	if !ok {
		b.t.Fatalf("there is no log of %s", topic)
	}
	if err := l.Err(); err != nil {
		b.t.Fatal(err)
	}
	return l
}

// add appends a batch that must be taken and returns its base offset.
func (b *bench) add(l *Log, p *record.Prepared) int64 {
	b.t.Helper()
	r := appendOne(l, p)
	if r.Err != nil {
		b.t.Fatal(r.Err)
	}
	return r.BaseOffset
}

// fill appends n batches of one record, a second apart, of some 180 bytes, and returns the log's end.
func (b *bench) fill(l *Log, n int) int64 {
	b.t.Helper()
	for range n {
		at := l.LogEndOffset()
		b.add(l, batchOf(batchID(at), 1, 100, testNow+1000*(at%3000), -1, 0))
	}
	return l.LogEndOffset()
}

func batchID(offset int64) string { return "b" + time.UnixMilli(offset).UTC().Format("05.000") }

// whole checks that a log holds what fill appended from its start to end, and nothing else.
func (b *bench) whole(l *Log, start, end int64) {
	b.t.Helper()
	all, err := contents(l)
	if err != nil {
		b.t.Fatal(err)
	}
	if l.LogStartOffset() != start || l.LogEndOffset() != end || l.HighWatermark() != end {
		b.t.Fatalf("log [%d, %d), high watermark %d, want [%d, %d)", l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), start, end)
	}
	for _, s := range all {
		if s.id != batchID(s.base) {
			b.t.Fatalf("offset %d holds %s, want %s", s.base, s.id, batchID(s.base))
		}
	}
}

// small is a configuration with segments of a few batches.
func small() Config {
	return Config{SegmentBytes: 2000, IndexInterval: 300, DeleteDelay: -1, RetentionAge: -1}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if err == nil || !isErr(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func isErr(err, want error) bool { return errors.Is(err, want) }

// overwrite replaces a file by other bytes, or removes it where there are none.
func overwrite(t testing.TB, disk fs.FS, name string, with []byte) {
	t.Helper()
	if err := disk.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if with == nil {
		return
	}
	f, err := disk.Open(name, os.O_RDWR|os.O_CREATE)
	must(t, err)
	must(t, f.Write(with, 0, false))
	must(t, f.Datasync())
	must(t, f.Close())
}

// closedUnflushed returns what was closed with unflushed writes, but for guards, on which nobody counts.
func closedUnflushed(disk *fs.Crash) []string {
	return slices.DeleteFunc(disk.ClosedUnflushed(), func(name string) bool { return isGuard(filepath.Base(name)) })
}

// unguard removes the guards of a log, for what a start does without.
func unguard(t *testing.T, disk *fs.Crash, dir string) {
	t.Helper()
	for _, name := range list(t, disk, dir) {
		if isGuard(name) {
			must(t, disk.Remove(filepath.Join(dir, name)))
		}
	}
}

// read returns a file's bytes.
func read(t testing.TB, disk fs.FS, name string) []byte {
	t.Helper()
	f, err := disk.Open(name, os.O_RDONLY)
	must(t, err)
	defer f.Close()
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return b
}

func asErr[T error](err error, to *T) bool { return errors.As(err, to) }
