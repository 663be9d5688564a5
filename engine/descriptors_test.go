package engine

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
	"golang.org/x/sys/unix"
)

// writersOpen returns how many logs have a writer's descriptor.
func writersOpen(e *Engine) (n int) {
	for _, l := range e.Logs() {
		l.mu.Lock()
		active := l.mu.active
		l.mu.Unlock()
		if active.Open() {
			n++
		}
	}
	return n
}

func TestManyLogsDoWithFewDescriptors(t *testing.T) {
	for _, sync := range []bool{false, true} {
		for _, h := range ways {
			b := newBench(t)
			b.stop()
			b.opt.Descriptors = 16
			b.opt.StageBytes = 4 << 20
			b.open()
			var logs []*Log
			for i := range 60 {
				l, err := b.e.Create(Name{"t", int32(i)}, [16]byte{1}, crashConfig(h, sync))
				must(t, err)
				logs = append(logs, l)
			}
			for range 5 {
				for _, l := range logs {
					b.fill(l, 2)
				}
			}
			for _, l := range logs {
				must(t, l.Flush())
				b.whole(l, 0, 10)
			}
			b.e.flushers.close() // what was to be closed is
			if n := writersOpen(b.e); n > 30 {
				t.Errorf("%s, sync %t: %d descriptors for 60 logs", h.name, sync, n)
			}
			b.crash(fs.DropUnflushed)
			for i := range logs {
				l, ok := b.e.Log(Name{"t", int32(i)})
				if !ok {
					t.Fatalf("log %d is gone", i)
				}
				b.whole(l, 0, 10)
			}
			b.stop()
			if files := closedUnflushed(b.disk); len(files) > 0 {
				t.Errorf("%s, sync %t: closed with unflushed writes: %v", h.name, sync, files)
			}
		}
	}
}

func TestAWriterWaitsForADescriptor(t *testing.T) {
	for _, h := range ways {
		for _, sync := range []bool{false, true} {
			b := newBench(t)
			l := b.create("t", crashConfig(h, sync))
			var refused atomic.Int64
			b.disk.SetHook(func(op fs.Op, name string, _ int) error {
				writes := filepath.Ext(name) == segment.LogSuffix || filepath.Ext(name) == segment.SnapshotSuffix || op == fs.OpSyncDir
				if (op == fs.OpOpen || op == fs.OpSyncDir) && writes && refused.Add(1)%3 != 0 {
					return unix.EMFILE
				}
				return nil
			})
			b.fill(l, 60) // rolls
			must(t, l.Flush())
			must(t, b.e.Checkpoint())
			b.disk.SetHook(nil)
			must(t, b.e.Err())
			b.whole(l, 0, 60)
			if refused.Load() == 0 {
				t.Error("nothing was refused")
			}
			b.crash(fs.DropUnflushed)
			b.whole(b.log("t"), 0, 60)
			b.stop()
		}
	}
}

func TestAnEngineWithoutADescriptorCanBeClosed(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 3)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpOpen && filepath.Ext(name) == ".snapshot" {
			return unix.ENFILE
		}
		return nil
	})
	if err := b.e.Close(); !errors.Is(err, unix.ENFILE) {
		t.Error(err)
	}
	b.disk.SetHook(nil)
	b.open()
	if _, err := b.disk.Open("/data/nothing", os.O_RDONLY); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	b.whole(b.log("t"), 0, 3)
}

// Flushers wait for writers, and those for a descriptor: closing one is nobody's who waits.
func TestDescriptorsAreClosedWhileFlushersWaitForWriters(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.Writers = 4
	b.open()
	var logs []*Log
	for i := range 3 {
		l, err := b.e.Create(Name{"t", int32(i)}, [16]byte{1}, Config{})
		must(t, err)
		logs = append(logs, l)
	}
	b.fill(logs[2], 1)
	gate := make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpOpen && filepath.Ext(name) == segment.LogSuffix {
			<-gate
			if logs[2].mu.active.Open() {
				return unix.EMFILE
			}
		}
		return nil
	})
	done := make(chan Appended, 2)
	for _, l := range logs[:2] {
		l.Append(batchOf(batchID(0), 1, 100, testNow, -1, 0), 0, func(a Appended) { done <- a })
		l.flushSoon()
	}
	for waits := 0; waits < 2; runtime.Gosched() {
		p := b.e.flushers
		p.mu.Lock()
		if waits = p.running - p.idle; p.head < len(p.queue) {
			waits = 0
		}
		p.mu.Unlock()
	}
	close(gate)
	for range 2 {
		select {
		case a := <-done:
			must(t, a.Err)
		case <-time.After(time.Minute):
			b.disk.SetHook(nil)
			t.Fatal("writers wait for flushers, and these for them")
		}
	}
	b.disk.SetHook(nil)
	for _, l := range logs {
		must(t, l.Flush())
		b.whole(l, 0, 1)
	}
}

func TestAStopOfManyLogsDoesWithTheDescriptorsThatThereAre(t *testing.T) {
	b := newBench(t)
	var logs []*Log
	for i := range 60 {
		l, err := b.e.Create(Name{"t", int32(i)}, [16]byte{1}, Config{})
		must(t, err)
		logs = append(logs, l)
	}
	var open atomic.Int64
	bound := int64(1 << 20)
	b.disk.SetHook(func(op fs.Op, _ string, _ int) error {
		switch {
		case op == fs.OpClose:
			open.Add(-1)
		case op == fs.OpSyncDir && open.Load() >= bound:
			return unix.EMFILE
		case op == fs.OpOpen:
			if open.Add(1) > bound {
				open.Add(-1)
				return unix.EMFILE
			}
		}
		return nil
	})
	for _, l := range logs {
		b.fill(l, 2)
		l.mu.Lock()
		l.awaitWritten(2)
		l.mu.Unlock()
	}
	bound = open.Load() + 40 // and settling takes more than one for each log
	must(t, b.e.Close())
	b.disk.SetHook(nil)
	b.open()
	if !b.e.Recovery().Clean {
		t.Error("the stop was not in order")
	}
	for _, l := range logs {
		again, _ := b.e.Log(l.name)
		b.whole(again, 0, 2)
	}
}
