package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPlantedBugsLoseWhatWasPromised(t *testing.T) {
	for name, faults := range map[string]Faults{
		"datasync": {IgnoreDatasync: true},
		"durable":  {IgnoreDurable: true},
		"syncdir":  {IgnoreSyncDir: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir := newDisk(t, 10)
			c.SetFaults(faults)
			f := create(t, c, dir+"/a")
			must(t, f.Write(fill('s', sector), 0, false))
			must(t, f.Datasync())
			must(t, f.Write(fill('d', sector), sector, true))
			must(t, c.SyncDir(dir))
			if got := summary(content(t, c.Clone(DropUnflushed), dir+"/a")); got == "s1 d1 " {
				t.Error("nothing was lost")
			}
			if got := summary(content(t, c, dir+"/a")); got != "s1 d1 " {
				t.Errorf("the running process sees %q", got)
			}
		})
	}
	c, dir := newDisk(t, 10)
	c.SetFaults(Faults{NoQueue: true, NoMap: true})
	_, err := c.NewQueue(1)
	wantErr(t, "queue", err, ErrUnsupported)
	_, err = settledFile(t, c, dir+"/a", nil).Map(0)
	wantErr(t, "map", err, ErrUnsupported)
}

func TestTheHookSeesEachCallAndMayFailOrClone(t *testing.T) {
	c, dir := newDisk(t, 11)
	var calls []string
	var clones []*Crash
	c.SetHook(func(op Op, name string, n int) error {
		calls = append(calls, fmt.Sprintf("%d %v %s", n, op, name))
		clones = append(clones, c.Clone(KeepAll))
		if op == OpRename {
			return unix.ENOSPC
		}
		return nil
	})
	f, err := c.Open(dir+"/a", os.O_RDWR|os.O_CREATE)
	must(t, err)
	must(t, f.Write([]byte("x"), 0, true))
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
		t.Error(err)
	}
	wantErr(t, "rename", c.Rename(dir+"/a", dir+"/b"), unix.ENOSPC)
	must(t, c.SyncDir(dir))
	want := []string{"3 open /data/a", "4 write durable /data/a", "4 read /data/a", "5 rename /data/a", "6 syncdir /data"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if got := names(t, clones[0], dir); got != nil {
		t.Errorf("before the first call there was %v", got)
	}
	same(t, "before the write", content(t, clones[1], dir+"/a"), nil)
	c.Halt(errors.New("power cut"))
	if err := f.Write([]byte("y"), 0, false); err == nil {
		t.Error("a halted disk took a write")
	}
}

func TestAFullDiskRefusesAndFreedSpaceIsUsable(t *testing.T) {
	c, dir := newDisk(t, 12)
	c.SetCapacity(4 * BlockSize)
	f := create(t, c, dir+"/a")
	must(t, f.Write(fill('a', 3*BlockSize), 0, false))
	if free, _ := c.Free(dir); free != BlockSize {
		t.Errorf("free %d, want %d", free, BlockSize)
	}
	g := create(t, c, dir+"/b")
	wantErr(t, "write", g.Write(fill('b', 2*BlockSize), 0, false), unix.ENOSPC)
	must(t, f.Write(fill('c', 3*BlockSize), 0, false)) // in place
	must(t, c.Remove(dir+"/a"))
	wantErr(t, "write while the removed file is open", g.Write(fill('b', 2*BlockSize), 0, false), unix.ENOSPC)
	must(t, f.Close())
	must(t, g.Write(fill('b', 2*BlockSize), 0, false))
	must(t, g.Truncate(BlockSize))
	for _, disk := range []*Crash{c, c.Clone(KeepAll)} {
		if free, _ := disk.Free(dir); free != 3*BlockSize {
			t.Errorf("free %d, want %d", free, 3*BlockSize)
		}
	}
}

func TestCountsSayWhatWasAsked(t *testing.T) {
	c, dir := newDisk(t, 13)
	f := create(t, c, dir+"/a")
	before := c.Counts()
	must(t, f.Write(fill('a', 100), 0, false))
	must(t, f.Write(fill('a', 100), 0, true))
	must(t, f.Datasync())
	f.ReadAt(make([]byte, 150), 50)
	after := c.Counts()
	before.Writes, before.DurableWrites, before.Datasyncs, before.Reads = 2, 1, 1, 1
	before.WrittenBytes, before.ReadBytes = 200, 50
	if after != before {
		t.Errorf("counts %+v, want %+v", after, before)
	}
	if n := c.BytesRead(dir + "/a"); n != 50 {
		t.Errorf("%d bytes of the file were read, want 50", n)
	}
}

func TestFilesClosedUnflushedAreListed(t *testing.T) {
	c, dir := newDisk(t, 14)
	for i, end := range []func(f File){
		func(f File) {},
		func(f File) { must(t, f.Datasync()) },
		func(f File) { must(t, c.Remove(f.Name())) },
		func(f File) { must(t, f.Datasync()); must(t, f.Truncate(1)) },
	} {
		f := create(t, c, fmt.Sprintf("%s/%d", dir, i))
		must(t, f.Write([]byte("xx"), 0, false))
		end(f)
		must(t, f.Close())
	}
	if got := c.ClosedUnflushed(); !slices.Equal(got, []string{dir + "/0", dir + "/3"}) {
		t.Errorf("closed unflushed: %v", got)
	}
}

func TestDirectFilesOfTheTwinDemandAlignment(t *testing.T) {
	c, dir := newDisk(t, 15)
	f, err := c.Open(dir+"/a", os.O_RDWR|os.O_CREATE|Direct)
	must(t, err)
	p := direct(t, 2*BlockSize)
	must(t, f.Write(p, BlockSize, false))
	wantErr(t, "position", f.Write(p, sector, false), unix.EINVAL)
	wantErr(t, "length", f.Write(p[:sector], 0, false), unix.EINVAL)
	wantErr(t, "address", f.Write(p[sector:sector+BlockSize], 0, false), unix.EINVAL)
}

func TestBytesThatAFlushLostAreThereWhenTheyWereWrittenAndFlushedAgain(t *testing.T) {
	c, dir := newDisk(t, 13)
	f := create(t, c, dir+"/a")
	must(t, c.SyncDir(dir))
	must(t, f.Write(fill('a', 3*sector), 0, false))
	c.SetHook(func(op Op, _ string, _ int) error {
		if op == OpDatasync {
			return unix.EIO
		}
		return nil
	})
	wantErr(t, "flush", f.Datasync(), unix.EIO)
	c.SetHook(nil)
	must(t, f.Datasync())
	if got := content(t, c.Clone(DropUnflushed), dir+"/a"); len(got) != 0 {
		t.Errorf("a second flush brought %d bytes", len(got))
	}
	must(t, f.Write(fill('a', 2*sector), 0, false))
	must(t, f.Datasync())
	if got := summary(content(t, c.Clone(DropUnflushed), dir+"/a")); !strings.HasPrefix(got, "a2 ") {
		t.Errorf("after writing them again: %q", got)
	}
}

func TestAFailedWriteBackIsToldOnceToEachDescriptorThatWasOpen(t *testing.T) {
	c, dir := newDisk(t, 14)
	f := create(t, c, dir+"/a")
	must(t, c.SyncDir(dir))
	other, err := c.Open(dir+"/a", os.O_RDWR)
	must(t, err)
	c.SetHook(func(op Op, _ string, _ int) error {
		if op == OpWrite {
			return &Delayed{unix.EIO}
		}
		return nil
	})
	must(t, f.Write(fill('a', sector), 0, false))
	c.SetHook(nil)
	late, err := c.Open(dir+"/a", os.O_RDWR)
	must(t, err)
	must(t, late.Datasync())
	wantErr(t, "the writer", f.Datasync(), unix.EIO)
	must(t, f.Datasync())
	wantErr(t, "one that was open", other.Datasync(), unix.EIO)
	if got := content(t, c.Clone(DropUnflushed), dir+"/a"); len(got) != 0 {
		t.Errorf("%d bytes are on the disk", len(got))
	}
	if got := summary(content(t, c, dir+"/a")); got != "a1 " {
		t.Errorf("the process sees %q", got)
	}
}

func TestAShortWriteLeavesAPartAndAShortReadEndsBeforeTheFile(t *testing.T) {
	c, dir := newDisk(t, 15)
	f := create(t, c, dir+"/a")
	c.SetHook(func(op Op, _ string, _ int) error {
		if op == OpWrite || op == OpRead {
			return ErrShort
		}
		return nil
	})
	wantErr(t, "write", f.Write(fill('a', 100), 0, false), io.ErrShortWrite)
	size, err := f.Size()
	must(t, err)
	if size >= 100 {
		t.Errorf("all %d bytes were written", size)
	}
	c.SetHook(nil)
	must(t, f.Write(fill('b', 100), 0, false))
	c.SetHook(func(Op, string, int) error { return ErrShort })
	if n, err := f.ReadAt(make([]byte, 100), 0); n >= 100 || err != io.EOF {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
