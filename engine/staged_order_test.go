package engine

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
	"golang.org/x/sys/unix"
)

// Appends that a writer answers are readable, and the next one could be staged, before all of them are answered.
func TestAppendsAreAnsweredInTheirOrderWhereStagingBegins(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{FlushMessages: 1})
	gate, first, staged, last := make(chan bool), make(chan bool), make(chan bool), make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpOpen && filepath.Ext(name) == segment.LogSuffix {
			<-gate
		}
		return nil
	})
	answers := make(chan int64, 3)
	add := func(after func()) {
		l.Append(batchOf("x", 1, 100, testNow, -1, 0), 0, func(a Appended) {
			answers <- a.BaseOffset
			after()
		})
	}
	add(func() {
		close(first)
		<-staged
	})
	add(func() {})
	close(gate) // both are in one write
	<-first
	l.SetConfig(Config{})
	add(func() { close(last) })
	close(staged)
	<-last
	var order []int64
	for range 3 {
		order = append(order, <-answers)
	}
	if !slices.IsSorted(order) {
		t.Errorf("answered in the order %v", order)
	}
}

// Nothing is put where records lie that only the stage has, even by an append that began before the directory failed.
func TestAnAppendThatMeetsAFailureLeavesTheStageAsItIs(t *testing.T) {
	b := stageBench(t, 1<<20)
	now := b.opt.Now
	var meet atomic.Pointer[func()]
	b.stop()
	b.opt.Now = func() time.Time {
		if f := meet.Swap(nil); f != nil {
			(*f)()
		}
		return now()
	}
	b.open()
	l := b.create("t", Config{})
	other, err := b.e.Create(Name{"u", 0}, [16]byte{1}, Config{})
	must(t, err)
	gate := make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op.Changes() && filepath.Ext(name) == segment.LogSuffix {
			<-gate
			return unix.EIO
		}
		return nil
	})
	b.fill(l, 3)
	meet.Store(new(func() {
		close(gate)
		wantErr(t, "flush", l.Flush(), ErrOffline)
		l.drain() // and the slot was given back
	}))
	wantErr(t, "append", appendOne(other, batchOf("x", 1, 100, testNow, -1, 0)).Err, ErrOffline)
	b.disk.SetHook(nil)
	if n := len(l.tail.list); n != 0 {
		t.Errorf("readers find %d runs whose memory is not the log's any more", n)
	}
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, 3)
	if l, ok := b.e.Log(other.Name()); ok && l.LogEndOffset() > 0 {
		t.Error("a record that was refused is there")
	}
}

// Where nobody can tell a kill from a power cut, nothing is acknowledged that counts on it.
func TestWithoutANameOfTheBootNothingIsStaged(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.StageBytes = 4 << 20
	b.disk.SetBoot("")
	b.open()
	l := b.create("t", Config{})
	b.fill(l, 3)
	b.crash(fs.KeepAll)
	b.whole(b.log("t"), 0, 3)
}

func TestAStageThatNobodyCanJudgeIsNotPassedOver(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{})
	release := holdWriters(b.disk)
	b.fill(l, 3)
	left := b.disk.Clone(fs.KeepAll)
	release()
	b.e.Close()
	boot := left.Boot()
	left.SetBoot("")
	b.opt.FS = left
	if e, err := Open(b.opt); err == nil {
		t.Error("acknowledged records are gone without a word")
		e.Close()
	}
	left.SetBoot(boot)
	b.disk = left
	b.open()
	b.whole(b.log("t"), 0, 3)
}

// An idempotent producer's batch is looked at again once it has its place.
func TestABatchThatCouldNotBeStagedIsNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	must(t, err)
	must(t, appendOne(l, batchOf("w", 1, 100, testNow, -1, 0)).Err)
	must(t, os.Truncate(filepath.Join(dir, stageName), 0)) // no page can be had
	two := batchOf("x", 1, 5000, testNow, 7, 0)
	must(t, two.Prepare(slices.Concat(two.Bytes, batchOf("y", 1, 5000, testNow, 7, 1).Bytes), record.DefaultRules(testNow)))
	wantErr(t, "append", appendOne(l, two).Err, ErrOffline)
	if n := l.LogEndOffset(); n != 1 {
		t.Errorf("%d offsets were given", n-1)
	}
	wantErr(t, "close", e.Close(), ErrOffline)
	if n := e.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait for ever", n)
	}
}

// A reader that has looked at the segments, and then finds that a record has left the stage, looks again: the file that it is
// in may be newer.
func TestARecordThatWentToANewFileMeanwhileIsFound(t *testing.T) {
	b := stageBench(t, 4<<20)
	l := b.create("t", Config{SegmentBytes: 500})
	b.fill(l, 2)
	must(t, l.Flush())
	gate := make(chan bool)
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpOpen && name == segment.Name(l.Dir(), 2, segment.LogSuffix) {
			<-gate
		}
		return nil
	})
	b.fill(l, 1)
	l.tail.mu.Lock()
	read := make(chan int)
	go func() {
		r, err := l.Read(2, 1<<20, true)
		if err != nil {
			t.Error(err)
		}
		read <- r.Size
		r.Release()
	}()
	for range 10_000 {
		runtime.Gosched() // the reader comes to the list
	}
	close(gate)
	for l.written.Load().offset < 3 {
		l.mu.Lock()
		l.kick()
		l.mu.Unlock()
		runtime.Gosched()
	}
	l.tail.list = nil
	l.tail.mu.Unlock()
	if n := <-read; n == 0 {
		t.Error("nothing is read below the high watermark")
	}
}
