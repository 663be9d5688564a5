package segment

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// written returns a segment with n batches of one record, one for each millisecond from 1000 on.
func written(t *testing.T, disk fs.FS, base int64, n int, sh *Shared) *Segment {
	t.Helper()
	s, err := New(disk, "/data", base, Limits{Bytes: 1 << 20, IndexBytes: 1 << 10, IndexInterval: 200, Shared: sh})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Writer(0)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for i := range n {
		b := record.NewBuilder(record.None)
		b.BaseOffset = base + int64(i)
		batch := b.Add(1000+int64(i), nil, []byte(fmt.Sprint("value ", i))).Bytes()
		if err := f.Write(batch, at, false); err != nil {
			t.Fatal(err)
		}
		s.Note(batch.Size(), base+int64(i), 1000+int64(i), 200)
		at += int64(batch.Size())
		s.Extend(at)
	}
	return s
}

func newDisk(t *testing.T) *fs.Crash {
	t.Helper()
	disk := fs.NewCrash(1)
	if err := disk.MkdirAll("/data"); err != nil {
		t.Fatal(err)
	}
	return disk
}

func TestReadersDescriptorsAreClosedWhenTooManyAreIdle(t *testing.T) {
	disk := newDisk(t)
	sh := NewShared(10, 10)
	var all []*Segment
	for i := range 100 {
		s := written(t, disk, int64(10*i), 5, sh)
		all = append(all, s)
		if _, err := s.Acquire(); err != nil {
			t.Fatal(err)
		}
		s.Release()
	}
	open := 0
	for _, s := range all {
		if s.files.read != nil {
			open++
		}
	}
	if open > 11 {
		t.Errorf("%d descriptors are open, 10 are wanted", open)
	}
	// Those in use stay, however many.
	for _, s := range all {
		if _, err := s.Acquire(); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range all {
		if s.files.read == nil || s.Readers() != 1 {
			t.Errorf("segment %d lost the descriptor of its reader", i)
		}
		if p, err := s.Find(s.files.read, int64(10*i+3), s.Size()); err != nil || p.BaseOffset != int64(10*i+3) {
			t.Errorf("segment %d: %+v %v", i, p, err)
		}
		s.Release()
	}
}

// A writer may wait long for a descriptor. Readers on an event loop, which frees descriptors, must not wait with it.
func TestReadersDoNotWaitForAWriterThatOpensItsFile(t *testing.T) {
	disk := newDisk(t)
	s := written(t, disk, 0, 5, nil)
	if _, err := s.Acquire(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Flush(), s.CloseWriter(false)); err != nil {
		t.Fatal(err)
	}
	opens, gate, done := make(chan bool), make(chan bool), make(chan error, 2)
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpOpen {
			close(opens)
			<-gate
		}
		return nil
	})
	go func() {
		_, err := s.Writer(0)
		done <- err
	}()
	<-opens
	go func() {
		_, err := s.Acquire()
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the reader waits")
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !s.Open() {
		t.Error("the writer has no descriptor")
	}
}

// Who waits for a descriptor, to open a file with, has idle ones closed meanwhile. Others may be at the same.
func TestWhoOpensAFileMayHaveIdleDescriptorsClosed(t *testing.T) {
	disk := newDisk(t)
	sh := NewShared(3, 10)
	all := []*Segment{written(t, disk, 0, 5, sh), written(t, disk, 10, 5, sh), written(t, disk, 20, 5, sh)}
	for _, s := range all {
		if _, err := s.Acquire(); err != nil {
			t.Fatal(err)
		}
		s.Release()
		if err := errors.Join(s.Flush(), s.CloseWriter(false)); err != nil {
			t.Fatal(err)
		}
	}
	var both sync.WaitGroup
	both.Add(2)
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpOpen {
			both.Done()
			both.Wait()
			sh.CloseIdle()
			sh.took(all[2])
		}
		return nil
	})
	done := make(chan error, 2)
	for _, s := range all[:2] {
		go func() {
			_, err := s.Writer(0)
			done <- err
		}()
	}
	for range 2 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("they wait for each other")
		}
	}
	disk.SetHook(nil)
	if all[2].files.read != nil {
		t.Error("an idle descriptor is open")
	}
}
