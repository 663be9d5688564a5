package engine

import (
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// appendIn appends one record as a leader of that epoch does, and waits for the acknowledgement.
func appendIn(t *testing.T, l *Log, epoch int32) {
	t.Helper()
	done := make(chan Appended, 1)
	l.Append(prepared(t, 1, "v"), epoch, func(a Appended) { done <- a })
	if a := <-done; a.Err != nil {
		t.Fatal(a.Err)
	}
}

// A recovery moves the recovery point to the end of the log. What it learned of epochs from the batches below has to
// outlive the next kill, too, though no checkpoint came in between.
func TestLeaderEpochsOutliveKillsWithoutACheckpoint(t *testing.T) {
	disk := fs.NewCrash(1)
	opt := Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1}
	e := open(t, opt)
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	appendIn(t, l, 0)
	if err := e.Checkpoint(); err != nil { // there is a file: without one they are made again from all batches
		t.Fatal(err)
	}
	for epoch := int32(1); epoch < 6; epoch++ {
		appendIn(t, l, epoch)
		killed := disk.Clone(fs.KeepAll)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		disk = killed
		opt.FS = disk
		e = open(t, opt)
		l, _ = e.Log(Name{"t", 0})
		for want := range epoch + 1 {
			if got := l.EpochAt(int64(want)); got != want {
				t.Fatalf("after kill %d the record at %d is of epoch %d", epoch, want, got)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
