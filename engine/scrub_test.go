package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// scrubbed runs a pass and returns the state of the log that it has taken offline, "" if none.
func (b *bench) scrubbed() (found State) {
	b.t.Helper()
	must(b.t, b.e.Scrub(context.Background(), 0))
	for _, l := range b.e.Logs() {
		if err := l.Err(); err != nil {
			found = StateOf(err)
		}
	}
	if st := b.e.ScrubStatus(); st.Running || st.Done != st.All || (st.Findings > 0) != (found != "") {
		b.t.Errorf("%+v, and found %q", st, found)
	}
	return found
}

func TestAScrubReadsAllThatIsFlushedAndFindsNothingInWhatIsSound(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, false))
		b.create("empty", Config{})
		end := b.fill(l, 100)
		must(t, l.Flush())
		size := l.Size()
		b.fill(l, 5) // not flushed, but where a roll has done it
		if s := b.scrubbed(); s != "" {
			t.Errorf("%s: %s", h.name, s)
		}
		if st := b.e.ScrubStatus(); st.Read != size || st.Ended.IsZero() {
			t.Errorf("%s: %+v, want %d read", h.name, st, size)
		}
		b.whole(l, 0, end+5)
		b.stop()
	}
}

func TestAScrubFindsAFlippedBitInAnyByteOfABatch(t *testing.T) {
	for at := range int64(90) {
		b := newBench(t)
		l, other := b.create("t", Config{}), b.create("u", Config{})
		b.fill(l, 40)
		end := b.fill(other, 10)
		must(t, b.e.Checkpoint())
		flip(t, b.disk, 20, at, int(at)%8)
		switch s := b.scrubbed(); s {
		case RottenBatch, CorruptBatch, GuardDiffers:
		default:
			t.Errorf("byte %d: %q", at, s)
		}
		if r := appendOne(l, batchOf("x", 1, 1, testNow, -1, 0)); !errors.Is(r.Err, ErrOffline) {
			t.Errorf("byte %d: an append is taken: %+v", at, r)
		}
		if _, err := l.Read(0, 1000, true); !errors.Is(err, ErrOffline) {
			t.Errorf("byte %d: a read is served: %v", at, err)
		}
		if err := l.Err(); !strings.Contains(err.Error(), "00000000000000000000.log") || !strings.Contains(err.Error(), "position") {
			t.Errorf("byte %d: %v", at, err)
		}
		b.add(other, batchOf(batchID(end), 1, 100, testNow+1000*end, -1, 0))
		b.whole(other, 0, end+1)
		must(t, b.e.Checkpoint())
		b.stop()
	}
}

func TestWhatAScrubFoundIsOfflineAfterAStartUntilItIsRepaired(t *testing.T) {
	for _, at := range []int64{3, 14, 80} { // an offset, an epoch, a record
		b := newBench(t)
		l := b.create("t", Config{})
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		flip(t, b.disk, 20, at, 3)
		if b.scrubbed() == "" {
			t.Errorf("byte %d: not found", at)
		}
		for range 2 {
			b.restart()
			l, _ := b.e.Log(Name{"t", 0})
			if l.Err() == nil || b.e.Recovery().Offline != 1 || b.e.ScrubStatus().Findings != 1 {
				t.Errorf("byte %d: %v, %+v, %+v", at, l.Err(), b.e.Recovery(), b.e.ScrubStatus())
			}
		}
		b.stop()
		mended := read(t, b.disk, firstLog)
		position := int64(20*len(mended)) / 40
		patch(t, b.disk, firstLog, position+at, []byte{mended[position+at] ^ 1<<3})
		b.open()
		b.whole(b.log("t"), 0, 40)
		if s := b.scrubbed(); s != "" || b.e.ScrubStatus().Findings != 0 {
			t.Errorf("byte %d: %s, %+v", at, s, b.e.ScrubStatus())
		}
		b.stop()
	}
}

func TestAScrubGuardsSealedSegmentsThatHaveNoGuard(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	b.stop()
	unguard(t, b.disk, l.Dir()) // as Kafka does
	b.open()
	if s := b.scrubbed(); s != "" {
		t.Error(s)
	}
	l = b.log("t")
	segs := *l.view.Load()
	for i, s := range segs {
		covered, err := heldAgainst(b.disk, l.dir, s.Base)
		if want := s.Size(); err != nil || i+1 < len(segs) && covered != want {
			t.Errorf("segment %d: %d bytes are covered of %d, %v", s.Base, covered, want, err)
		}
	}
	before := read(t, b.disk, guard.Name(l.dir, segs[1].Base))
	if s := b.scrubbed(); s != "" || !reflect.DeepEqual(read(t, b.disk, guard.Name(l.dir, segs[1].Base)), before) {
		t.Error("guarded twice")
	}
	name := segment.Name(l.dir, segs[1].Base, segment.LogSuffix)
	patch(t, b.disk, name, 15, []byte{9}) // the leader epoch, which no checksum of Kafka's covers
	if s := b.scrubbed(); s != GuardDiffers {
		t.Errorf("%q", s)
	}
}

func TestAScrubBesideARollWritesNoSlotTwice(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, l.Flush()) // and no checkpoint: the guards are still to be written
	if s := b.scrubbed(); s != "" {
		t.Error(s)
	}
	must(t, b.e.Checkpoint())
	must(t, guarded(b.disk, l, true))
	for _, s := range *l.view.Load() {
		if g, err := guard.Read(b.disk, l.dir, s.Base); err != nil || g.Bad > 0 {
			t.Errorf("%+v, %v", g, err)
		}
	}
}

// The guard was read, and then a checkpoint came before the segment was: what the pass takes for unguarded is guarded since.
func TestACheckpointUnderAScrubIsNotGuardedTwice(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, l.Flush())
	came := false
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && name == firstLog && !came {
			came = true
			must(t, b.e.Checkpoint())
		}
		return nil
	})
	if s := b.scrubbed(); s != "" || !came {
		t.Errorf("%q, %t", s, came)
	}
	b.disk.SetHook(nil)
	must(t, guarded(b.disk, l, true))
	for _, s := range *l.view.Load() {
		if g, err := guard.Read(b.disk, l.dir, s.Base); err != nil || g.Bad > 0 {
			t.Errorf("segment %d: %+v, %v", s.Base, g, err)
		}
	}
}

// A start that knows a log does not look at its sealed segments. One that is gone is the scrub's to find.
func TestASealedSegmentThatIsGoneIsAFinding(t *testing.T) {
	b := newBench(t)
	many, _ := b.two()
	second := (*many.view.Load())[1]
	must(t, b.e.Checkpoint())
	overwrite(t, b.disk, second.Path(), nil)
	must(t, b.e.Scrub(context.Background(), 0))
	if s := StateOf(many.Err()); s != SegmentLost {
		t.Errorf("%q", s)
	}
}

func TestAFileThatCannotBeReadIsAFinding(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	bad := (*l.view.Load())[1].Path()
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && name == bad {
			return syscall.EIO
		}
		return nil
	})
	if s := b.scrubbed(); s != Unreadable {
		t.Errorf("%q", s)
	}
	b.disk.SetHook(nil)
	b.restart()
	b.whole(b.log("t"), 0, 40) // the disk is back
}

func TestAReadThatFailsOnceIsNoFinding(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	var once sync.Once
	bad := (*l.view.Load())[1].Path()
	b.disk.SetHook(func(op fs.Op, name string, _ int) (err error) {
		if op == fs.OpRead && name == bad {
			once.Do(func() { err = syscall.EIO })
		}
		return err
	})
	if s := b.scrubbed(); s != "" {
		t.Errorf("%q", s)
	}
	b.disk.SetHook(nil)
}

// A finding is looked at twice. Where no descriptor is left for the second look there was none.
func TestAFindingThatCannotBeConfirmedIsNone(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	reads, opens := 0, 0
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		switch {
		case name != firstLog:
		case op == fs.OpRead:
			if reads++; reads == 1 {
				return syscall.EIO
			}
		case op == fs.OpOpen:
			if opens++; opens > 1 {
				return syscall.EMFILE
			}
		}
		return nil
	})
	if s := b.scrubbed(); s != "" || reads == 0 || opens < 2 {
		t.Errorf("%q, %d reads, %d opens", s, reads, opens)
	}
	b.disk.SetHook(nil)
	b.whole(l, 0, 40)
}

func TestATruncationUnderAScrubIsNoFinding(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	cut := false
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op != fs.OpRead || name != firstLog || cut {
			return nil
		}
		cut = true // the guard was read
		must(t, l.Truncate(30))
		for range 15 {
			b.add(l, batchOf("other", 1, 77, testNow, -1, 0))
		}
		must(t, b.e.Checkpoint())
		return nil
	})
	if s := b.scrubbed(); s != "" {
		t.Errorf("%q", s)
	}
	b.disk.SetHook(nil)
	must(t, guarded(b.disk, l, true))
}

func TestWhatTheStageAcknowledgedIsThereWhenAScrubHasTakenTheLogOffline(t *testing.T) {
	b := newBench(t)
	b.e.Close()
	b.opt.StageBytes = 1 << 20
	b.open()
	l := b.create("t", Config{})
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	b.fill(l, 10)
	flip(t, b.disk, 20, 80, 3)
	if s := b.scrubbed(); s != RottenBatch {
		t.Errorf("%q", s)
	}
	b.stop()
	flip(t, b.disk, 20, 80, 3)
	b.open()
	b.whole(b.log("t"), 0, 50)
}

func TestAFollowerIsToldThatItsLogIsOffline(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	done := make(chan error, 1)
	go func() { done <- l.Wait(context.Background(), 40) }()
	flip(t, b.disk, 20, 80, 3)
	b.scrubbed()
	select {
	case err := <-done:
		wantErr(t, "a follower", err, ErrOffline)
	case <-time.After(10 * time.Second):
		t.Error("a follower still waits")
	}
}

func TestAnInterruptedPassGoesOnWhereItWas(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 60)
	b.fill(b.create("u", small()), 60)
	must(t, b.e.Checkpoint())
	ctx, cancel := context.WithCancel(context.Background())
	third := (*l.view.Load())[2]
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && name == third.Path() {
			cancel()
		}
		return nil
	})
	b.e.scrubDue(ctx)
	b.disk.SetHook(nil)
	st := b.e.ScrubStatus()
	if st.Running || st.Done == 0 || st.Done >= st.All || !st.Ended.IsZero() {
		t.Errorf("%+v", st)
	}
	before := st.Done
	b.restart()
	b.e.scrubDue(context.Background())
	if st = b.e.ScrubStatus(); st.Ended.IsZero() || st.Read == 0 || st.Read > st.All-before+third.Size() {
		t.Errorf("%d were done before: %+v", before, st)
	}
	read := st.Read
	b.e.scrubDue(context.Background())
	if st = b.e.ScrubStatus(); st.Read != read {
		t.Errorf("a pass that is not due: %+v", st)
	}
	b.now.Add(8 * 24 * 3600 * 1000)
	b.e.scrubDue(context.Background())
	if st = b.e.ScrubStatus(); st.Read != read+st.All || st.Began.UnixMilli() != b.now.Load() {
		t.Errorf("the next pass, after a week: %+v", st)
	}
}

func TestAPassHoldsItsRateAndMakesWay(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &pacer{ctx: ctx, e: b.e, rate: 1 << 20}
	began := time.Now()
	for range 4 {
		wantErr(t, "a pass that is over", p.wait(1<<18), context.Canceled)
	}
	if d := p.next.Sub(began); d < time.Second {
		t.Errorf("1 MiB at 1 MiB/s in %v", d)
	}
	p = &pacer{ctx: context.Background(), e: b.e, yields: true}
	b.e.scrub.wanted.Add(1)
	wantErr(t, "a pass that another one was called for", p.wait(1), errMadeWay)
	b.e.scrub.wanted.Add(-1)
	b.stop()
	wantErr(t, "closed", b.e.Scrub(context.Background(), 0), ErrClosed)
	wantErr(t, "closed", p.wait(1), ErrClosed)
}

func TestTheNotesOfAScrubAreReadAsTheyWereWritten(t *testing.T) {
	for _, n := range []scrubNotes{
		{},
		{began: 1, ended: 2},
		{began: 1, ended: 2, next: scrubPlace{Name{"a.b", 7}, 4096}, found: []finding{{Name{"t", 0}, 1, 2, RottenBatch, 0}, {Name{"u", 9}, 4, 5, GuardDiffers, 0}}},
	} {
		if got, err := parseScrubNotes(n.marshal()); err != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("%+v, %v, want %+v", got, err, n)
		}
	}
	b := newBench(t)
	b.fill(b.create("t", Config{}), 10)
	b.stop()
	overwrite(t, b.disk, "/data/"+scrubName, []byte("garbage"))
	b.open()
	b.met("garbage", CheckpointDamaged)
	if s := b.scrubbed(); s != "" {
		t.Error(s)
	}
}

func FuzzScrubNotes(f *testing.F) {
	n := scrubNotes{began: 1, ended: 2, next: scrubPlace{Name{"a.b", 7}, 4096}, found: []finding{{Name{"t", 0}, 1, 2, RottenBatch, 0}}}
	f.Add(string(n.marshal()[11:])) // behind version and checksum
	f.Fuzz(func(t *testing.T, body string) {
		n, err := parseScrubNotes(fmt.Appendf(nil, "0\n%08x\n%s", crc32.Checksum([]byte(body), castagnoli), body))
		if err != nil {
			return
		}
		if again, err := parseScrubNotes(n.marshal()); err != nil || !reflect.DeepEqual(again, n) {
			t.Fatalf("%+v became %+v, %v", n, again, err)
		}
	})
}
