package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
)

func TestALogMadeAgainHasNothingOfTheOldOne(t *testing.T) { // A24
	for _, p := range []fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random} {
		b := newBench(t)
		b.stop()
		b.opt.ProducerIDExpiration = 1 << 60
		b.open()
		l := b.create("t", small())
		for i := range int32(30) {
			b.add(l, batchOf("old", 1, 100, testNow, 7, i))
		}
		_, err := l.DeleteRecordsTo(20)
		must(t, err)
		must(t, b.e.Checkpoint())
		must(t, b.e.Delete(l.Name()))
		wantErr(t, "append", appendOne(l, batchOf("x", 1, 0, testNow, -1, 0)).Err, ErrDeleted)
		_, err = l.Read(25, 100, true)
		wantErr(t, "read", err, ErrDeleted)
		wantErr(t, "truncate", l.Truncate(0), ErrDeleted)
		wantErr(t, "delete again", b.e.Delete(l.Name()), ErrDeleted)

		fresh, err := b.e.Create(l.Name(), [16]byte{2}, small())
		must(t, err)
		b.whole(fresh, 0, 0)
		b.fill(fresh, 5)
		must(t, fresh.Flush())
		b.fill(fresh, 20)
		b.crash(p)
		fresh = b.log("t")
		end := fresh.LogEndOffset()
		if end < 5 {
			t.Errorf("%d of 5 flushed records are left", end)
		}
		b.whole(fresh, 0, end)
		if fresh.TopicID() != [16]byte{2} {
			t.Errorf("topic id %v", fresh.TopicID())
		}
		if r := appendOne(fresh, batchOf("x", 1, 0, testNow, 7, 29)); r.Err != nil || r.Duplicate {
			t.Errorf("the old one's producer is remembered: %+v", r)
		}
		b.stop()
	}
}

func TestAStaleHandleDoesNotTouchTheNewLog(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes = 1
	old := b.create("t", c)
	b.fill(old, 30)
	must(t, b.e.Delete(old.Name()))
	fresh := b.create("t", small())
	end := b.fill(fresh, 30)
	wantErr(t, "retention of the deleted log", old.retain(), ErrDeleted)
	wantErr(t, "checkpoint of the deleted log", old.settle(), ErrDeleted)
	b.whole(fresh, 0, end)
	b.restart()
	b.whole(b.log("t"), 0, end)
}

func TestADeletedFolderIsKeptForItsDelayAndGoneAfterAStart(t *testing.T) {
	b := newBench(t)
	c := small()
	c.DeleteDelay = time.Minute
	folders := func() (n int) {
		for _, name := range list(t, b.disk, "/data") {
			if strings.HasSuffix(name, "-delete") {
				n++
			}
		}
		return n
	}
	long := strings.Repeat("t", 249)
	for i := range 3 { // the same name again and again, and one as long as it may be
		for _, topic := range []string{"t", long} {
			b.fill(b.create(topic, c), 3)
			must(t, b.e.Delete(Name{topic, 0}))
		}
		if n := folders(); n != 2*i+2 {
			t.Errorf("%d folders wait, want %d", n, 2*i+2)
		}
	}
	b.now.Add(61_000)
	b.e.removals.run(b.e, b.opt.Now())
	if n := folders(); n != 0 {
		t.Errorf("%d folders are left after the delay", n)
	}
	b.fill(b.create("t", c), 3)
	must(t, b.e.Delete(Name{"t", 0}))
	b.crash(fs.KeepAll)
	if n := folders(); n != 0 || len(b.e.Logs()) != 0 {
		t.Errorf("%d folders, %d logs after a crash", n, len(b.e.Logs()))
	}
}

func TestReadersFinishWithALogThatIsDeleted(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 30)
	r, err := l.Read(0, 1000, true)
	must(t, err)
	want, err := r.Bytes()
	must(t, err)
	must(t, b.e.Delete(l.Name()))
	got, err := r.Bytes()
	if err != nil || string(got) != string(want) {
		t.Errorf("a range that is held: %v", err)
	}
	r.Release()
}

func TestAppendsThatWaitAreDoneOrRefusedByADelete(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		l := b.create("t", crashConfig(ways[0], i%2 == 0))
		answers := make(chan Appended, 50)
		go func() {
			for k := range 50 {
				l.Append(batchOf(fmt.Sprint(k), 1, 50, testNow, -1, 0), 0, func(a Appended) { answers <- a })
			}
		}()
		first := <-answers
		if first.Err != nil {
			t.Fatal(first.Err)
		}
		must(t, b.e.Delete(l.Name()))
		for range 49 {
			if a := <-answers; a.Err != nil && !isErr(a.Err, ErrDeleted) {
				t.Fatal(a.Err)
			}
		}
	}
	must(t, b.e.Err())
}

// A folder that is gone while the checkpoints know its log would be taken for one that somebody has lost.
func TestADeletionThatACrashCutsOffIsNotTakenForALostFolder(t *testing.T) {
	sound := func(disk *fs.Crash, o Options, when string) {
		o.FS = disk
		e := open(t, o)
		if n := e.Recovery().States[FolderMissing]; n > 0 {
			t.Errorf("%s: a lost folder is told of", when)
		}
		must(t, e.Close())
	}
	b := newBench(t)
	b.fill(b.create("t", small()), 10)
	must(t, b.e.Checkpoint())
	var cuts []*fs.Crash
	b.disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op.Changes() {
			cuts = append(cuts, b.disk.Clone(fs.DropUnflushed), b.disk.Clone(fs.KeepAll))
		}
		return nil
	})
	must(t, b.e.Delete(Name{"t", 0}))
	b.disk.SetHook(nil)
	for i, disk := range cuts {
		o := b.opt
		o.FS = disk
		call := 0
		disk.SetHook(func(op fs.Op, name string, _ int) error { // and another one in the start behind it
			if op.Changes() {
				call++
				sound(disk.Clone(fs.KeepAll), b.opt, fmt.Sprintf("cut %d, then call %d of the start, %v %s", i, call, op, name))
			}
			return nil
		})
		e := open(t, o)
		disk.SetHook(nil)
		if n := e.Recovery().States[FolderMissing]; n > 0 {
			t.Errorf("cut %d: a lost folder is told of", i)
		}
		must(t, e.Close())
	}
	if len(cuts) < 10 {
		t.Errorf("%d cuts", len(cuts))
	}
}

// A look-up may find an index wrong because it was closed under it.
func TestAnIndexOfALogThatWasDeletedIsNotMadeAnew(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 10)
	s := l.newest()
	must(t, b.e.Delete(l.name))
	must(t, l.repairIndex(s, index.ErrCorrupt))
	if _, err := l.Read(5, 100, true); !errors.Is(err, ErrDeleted) {
		t.Error(err)
	}
}
