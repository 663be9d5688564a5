package engine

import (
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
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

// Every start of a broker begins an epoch in each of its logs. Ten thousand files that say so would be written at its stop, for
// epochs in which nothing was appended.
func TestAnEpochWithoutRecordsIsInNoFile(t *testing.T) {
	disk := fs.NewCrash(1)
	opt := Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1}
	e := open(t, opt)
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	appendIn(t, l, 0)
	again := func() {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, opt)
		l, _ = e.Log(Name{"t", 0})
		if r := e.Recovery(); r.States[EpochsAhead] > 0 || !r.Clean {
			t.Fatalf("start: %+v", r)
		}
	}
	inFile := func() []checkpoint.Epoch {
		t.Helper()
		epochs, err := checkpoint.ReadLeaderEpochs(disk, l.Dir())
		if err != nil {
			t.Fatal(err)
		}
		return epochs.Entries()
	}
	again()
	l.AssignEpoch(7)
	if got := l.LatestEpoch(); got != 7 {
		t.Fatalf("the latest epoch is %d", got)
	}
	before := disk.Counts().Renames
	again()
	if got := inFile(); len(got) != 1 {
		t.Fatalf("epochs %v are in the file, and nothing was appended in the last one", got)
	}
	if n := disk.Counts().Renames - before; n != 2 {
		t.Errorf("%d files were replaced, and the mark of an orderly stop and the list of known logs are all there is to say", n)
	}
	l.AssignEpoch(8)
	appendIn(t, l, 8)
	again()
	if got := inFile(); len(got) != 2 || got[1] != (checkpoint.Epoch{Epoch: 8, StartOffset: 1}) {
		t.Fatalf("epochs %v are in the file", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// A follower truncates what it had of a leader's epoch and copies what another leader has there. The file of leader epochs is
// older than that when the power fails: it must not be believed where the log is looked at.
func TestLeaderEpochsOfWhatWasTruncatedDoNotComeBackWithACrash(t *testing.T) {
	for _, after := range []int32{2, 3} {
		b := newBench(t)
		l := b.create("t", small())
		for _, epoch := range []int32{0, 0, 0, 0, 0, 3, 3} {
			appendIn(t, l, epoch)
		}
		must(t, b.e.Checkpoint())
		must(t, l.Truncate(3))
		for range 5 {
			appendIn(t, l, after)
		}
		must(t, l.Flush())
		b.crash(fs.DropUnflushed)
		l = b.log("t")
		for offset, want := range []int32{0, 0, 0, after, after, after, after, after} {
			if got := l.EpochAt(int64(offset)); got != want {
				t.Errorf("epoch %d behind the truncation: the record at offset %d is of epoch %d, want %d", after, offset, got, want)
			}
		}
		if _, end := l.EndOffsetForEpoch(0); end != 3 {
			t.Errorf("epoch %d behind the truncation: epoch 0 ends at offset %d, want 3", after, end)
		}
	}
}
