package engine

import (
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

func TestADirectoryHasOneEngine(t *testing.T) {
	b := newBench(t)
	_, err := Open(b.opt)
	wantErr(t, "a second engine", err, fs.ErrLocked)
	b.restart()
	dir := t.TempDir()
	e := open(t, Options{Dir: dir})
	_, err = Open(Options{Dir: dir})
	wantErr(t, "a second engine on the host", err, fs.ErrLocked)
	must(t, e.Close())
	must(t, open(t, Options{Dir: dir}).Close())
}

func TestAFullDiskRefusesAppendsAndNothingElse(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.ReserveBytes = 1 << 20
	b.open()
	c := Config{SegmentBytes: 100_000, RetentionBytes: 300_000, RetentionAge: -1, DeleteDelay: -1}
	l := b.create("t", c)
	b.fill(l, 200)
	b.disk.SetCapacity(2 << 20)
	b.e.space.measure(b.e)
	var refused Appended
	n := 0
	for ; n < 20_000 && refused.Err == nil; n++ {
		refused = appendOne(l, batchOf(batchID(l.LogEndOffset()), 1, 100, testNow, -1, 0))
	}
	wantErr(t, "append to a full disk", refused.Err, ErrNoSpace)
	must(t, b.e.Err())
	end := l.LogEndOffset()
	b.whole(l, 0, end)
	must(t, b.e.Checkpoint())
	must(t, b.e.Retain())
	b.e.space.measure(b.e)
	b.fill(l, 1)
	b.whole(l, l.LogStartOffset(), end+1)
	b.crash(fs.DropUnflushed)
	b.whole(b.log("t"), b.log("t").LogStartOffset(), end)
}

// Each engine takes off what it appends itself; what the other has taken since the last look it does not know.
func TestEnginesOnOneFileSystemShareItsRoom(t *testing.T) {
	const reserve, room = 4 << 20, 2 << 20
	disk := crashDisk(1)
	disk.SetCapacity(reserve + room)
	var logs []*Log
	for _, dir := range []string{"/data/a", "/data/b"} {
		opt := crashOptions(disk, ways[0])
		opt.Dir, opt.ReserveBytes, opt.SpaceSharers, opt.StageBytes, opt.CheckpointBytes = dir, reserve, 2, -1, 0
		e := open(t, opt)
		t.Cleanup(func() { must(t, e.Close()) })
		l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
		must(t, err)
		logs = append(logs, l)
	}
	for _, l := range logs {
		var last Appended
		for last.Err == nil {
			last = appendOne(l, batchOf(batchID(l.LogEndOffset()), 1, 10_000, testNow, -1, 0))
		}
		wantErr(t, "append to a full disk", last.Err, ErrNoSpace)
	}
	free, err := disk.Free("/data")
	must(t, err)
	if small := int64(64 << 10); free < reserve-small { // indexes are made from the reserve
		t.Errorf("%d bytes are free, and %d were to be left", free, reserve)
	}
	if both := logs[0].Size() + logs[1].Size(); both < room/2 {
		t.Errorf("both took %d bytes of %d", both, room)
	}
}

func TestMemoryIsBoundedAndReadyCallsWhenThereIsRoom(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.MemoryBytes = 10_000
	b.open()
	l := b.create("t", Config{})
	hold, held := make(chan struct{}), make(chan struct{}, 1000)
	b.disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpWrite {
			held <- struct{}{}
			<-hold
		}
		return nil
	})
	answers := make(chan Appended, 1000)
	taken := 0
	l.Append(batchOf("x", 1, 1000, testNow, -1, 0), 0, func(a Appended) { answers <- a })
	<-held // the writer waits for its disk
	for range 100 {
		refused := make(chan error, 1)
		l.Append(batchOf("x", 1, 1000, testNow, -1, 0), 0, func(a Appended) {
			answers <- a
			if a.Err != nil {
				refused <- a.Err
			}
		})
		select {
		case err := <-refused:
			wantErr(t, "append", err, ErrBusy)
		default:
			taken++
		}
	}
	if taken == 0 || taken > 40 || !b.e.Busy() {
		t.Errorf("%d appends of some 1 KB were taken with 10 KB of memory; busy %t", taken, b.e.Busy())
	}
	ready := make(chan struct{})
	b.e.Ready(func() { close(ready) })
	select {
	case <-ready:
		t.Error("ready with no room")
	default:
	}
	close(hold)
	<-ready
	for range 101 {
		<-answers
	}
	b.disk.SetHook(nil)
	again := make(chan struct{})
	b.e.Ready(func() { close(again) })
	<-again
	b.add(l, batchOf("x", 1, 1000, testNow, -1, 0))
}
