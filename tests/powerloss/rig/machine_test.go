package rig

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zurau/zurau/tests/powerloss/disk"
)

func TestMain(m *testing.M) { os.Exit(Main(m, nil)) }

// write makes a file, and flushes it and its name where it is to be durable.
func write(t *testing.T, name string, b []byte, durable bool) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if !durable {
		return
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := errors.Join(f.Sync(), dir.Sync()); err != nil {
		t.Fatal(err)
	}
}

func TestAMachineKeepsWhatWasFlushedAndMayLoseTheRest(t *testing.T) {
	for _, k := range []Kind{Shutdown, Cache} {
		for _, fs := range FileSystems {
			t.Run(k.String()+" "+fs, func(t *testing.T) {
				m := New(t, k, fs)
				flushed := bytes.Repeat([]byte("flushed "), 10_000)
				lost := 0
				for round, p := range disk.Policies() {
					write(t, filepath.Join(m.Dir, p.String()), flushed, true)
					write(t, filepath.Join(m.Dir, "not-flushed"), flushed, false)
					m.Cut(t, p, uint64(round))
					if err := os.WriteFile(filepath.Join(m.Dir, "after"), flushed, 0o644); err == nil {
						f, err := os.Open(filepath.Join(m.Dir, "after"))
						if err == nil && f.Sync() == nil {
							t.Error("a machine without power flushes")
						}
						f.Close()
					}
					m.Restart(t)
					for _, p := range disk.Policies()[:round+1] {
						if got, err := os.ReadFile(filepath.Join(m.Dir, p.String())); err != nil || !bytes.Equal(got, flushed) {
							t.Errorf("round %d: what was flushed in round %v is gone: %d bytes, %v", round, p, len(got), err)
						}
					}
					if got, _ := os.ReadFile(filepath.Join(m.Dir, "not-flushed")); !bytes.Equal(got, flushed) {
						lost++
					}
				}
				if lost == 0 {
					t.Error("nothing is ever lost: this rig proves nothing")
				}
			})
		}
	}
}

func TestADiskFailsWhatItIsToldTo(t *testing.T) {
	m := New(t, Cache, "ext4")
	f, err := os.Create(filepath.Join(m.Dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.Disk.Fail(disk.Write, syscall.EIO); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err) // it goes to the page cache
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a flush to a disk that fails to write: %v", err)
	}
}

func TestADiskThatStallsDelaysAFlushUntilItGoesOn(t *testing.T) {
	m := New(t, Cache, "xfs")
	if err := m.Disk.Stall(0); err != nil {
		t.Fatal(err)
	}
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		write(t, filepath.Join(m.Dir, "f"), []byte("late"), true)
	}()
	for n := 0; n == 0; {
		var err error
		if n, err = m.Disk.Waiting(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-flushed:
		t.Error("flushed by a disk that stalls")
	default:
	}
	if err := m.Disk.Unstall(); err != nil {
		t.Fatal(err)
	}
	<-flushed
}

func TestTheBootIDIsTheRigs(t *testing.T) {
	Need(t)
	before, err := os.ReadFile(bootID)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewBoot(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(bootID); err != nil || bytes.Equal(before, after) {
		t.Errorf("%q, then %q, %v", before, after, err)
	}
}
