package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// heldAgainst holds a segment's file against its guard, and returns how far the guard covers it without a gap.
func heldAgainst(disk fs.FS, dir string, base int64) (covered int64, err error) {
	g, err := guard.Read(disk, dir, base)
	if err != nil {
		return 0, err
	}
	f, err := disk.Open(segment.Name(dir, base, segment.LogSuffix), 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	check := guard.NewCheck(g)
	end, err := segment.Batches(f, 0, size, func(at int64, b record.Batch) error { return check.Note(at, b, b.Size()) })
	differs := (*guard.Mismatch)(nil)
	if errors.As(err, &differs) || end < g.End() {
		return 0, fmt.Errorf("segment %d: good up to %d, and guarded up to %d: %w", base, end, g.End(), err)
	}
	for _, p := range g.Pieces {
		if p.Start == covered {
			covered = p.End
		}
	}
	return covered, nil
}

// guarded checks that no guard of a log alarms, and with whole that they cover all of it.
func guarded(disk fs.FS, l *Log, whole bool) error {
	for _, s := range *l.view.Load() {
		covered, err := heldAgainst(disk, l.dir, s.Base)
		if err == nil && whole && covered != s.Size() {
			err = fmt.Errorf("segment %d: %d bytes are covered of %d", s.Base, covered, s.Size())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// forget removes what says where a recovery may begin.
func forget(t *testing.T, disk fs.FS) {
	t.Helper()
	overwrite(t, disk, "/data/"+checkpoint.RecoveryPoints, nil)
	overwrite(t, disk, "/data/"+recoveryName, nil)
}

// flip changes one bit of the batch of an offset, at a position in it.
func flip(t *testing.T, disk fs.FS, offset, at int64, bit int) {
	t.Helper()
	position, _ := placeOf(t, disk, firstLog, offset)
	b := read(t, disk, firstLog)[position+at]
	patch(t, disk, firstLog, position+at, []byte{b ^ 1<<bit})
}

func TestGuardsCoverWhatWasFlushed(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		c := crashConfig(h, false)
		l := b.create("t", c)
		b.fill(l, 30)
		must(t, guarded(b.disk, l, false))
		must(t, b.e.Checkpoint())
		must(t, guarded(b.disk, l, true))
		b.fill(l, 3)
		must(t, b.e.Checkpoint())
		must(t, guarded(b.disk, l, true))
		b.fill(l, 30)
		b.restart()
		must(t, guarded(b.disk, b.log("t"), true))
		b.fill(b.log("t"), 10)
		b.crash(fs.KeepAll)
		must(t, guarded(b.disk, b.log("t"), true)) // a recovery has flushed it
		b.fill(b.log("t"), 10)
		must(t, b.e.Checkpoint())
		must(t, guarded(b.disk, b.log("t"), true))
		b.stop()
	}
}

func TestAPieceThatGrowsKeepsItsSlot(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	for range 100 {
		b.fill(l, 10)
		must(t, b.e.Checkpoint())
	}
	must(t, guarded(b.disk, l, true))
	if n := len(read(t, b.disk, guard.Name(l.dir, 0))) / guard.Width; int64(n) > l.Size()/guard.PieceBytes+1 {
		t.Errorf("%d slots for %d bytes", n, l.Size())
	}
}

func TestStagedRecordsThatARecoveryAppendsAreGuarded(t *testing.T) {
	b := newBench(t)
	b.e.Close()
	b.opt.StageBytes = 1 << 20
	b.open()
	b.fill(b.create("t", Config{}), 30)
	b.crash(fs.KeepAll)
	b.met("killed", Staged)
	b.whole(b.log("t"), 0, 30)
	must(t, guarded(b.disk, b.log("t"), true))
}

// Each of the 17 bytes that Kafka's CRC leaves out, its CRC, and the rest, in a batch in the midst of what was flushed and in the last
// one, above the recovery point and after an orderly stop.
func TestAFlippedBitInWhatWasFlushedIsNoTornWrite(t *testing.T) {
	for at := range int64(70) {
		for _, offset := range []int64{20, 39} {
			b := newBench(t)
			l := b.create("t", Config{})
			b.fill(l, 40)
			must(t, b.e.Checkpoint())
			bit := int(at+offset) % 8
			b.killed(func(disk *fs.Crash) {
				forget(t, disk)
				flip(t, disk, offset, at, bit)
			})
			l, _ = b.e.Log(Name{"t", 0})
			state := StateOf(l.Err())
			if state != CorruptGuarded && state != GuardDiffers {
				t.Errorf("byte %d of the batch at offset %d: %v", at, offset, l.Err())
			}
			if r := b.e.Recovery(); r.Offline != 1 || r.Cut != 0 || r.States[state] != 1 {
				t.Errorf("byte %d of the batch at offset %d: %+v", at, offset, r)
			}
			b.stop()
		}
	}
}

func TestAFlippedBitInTheLastSegmentIsFoundAfterAnOrderlyStop(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 40)
	b.stop()
	flip(t, b.disk, 39, 8, 3) // of a length: a start that follows lengths does not come to the end
	b.open()
	l, _ = b.e.Log(Name{"t", 0})
	if StateOf(l.Err()) != CorruptGuarded {
		t.Error(l.Err())
	}
}

func TestWithoutAGuardAFlippedBitBeyondTheRecoveryPointIsATornWrite(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 40)
	must(t, b.e.Checkpoint())
	b.killed(func(disk *fs.Crash) {
		unguard(t, disk, l.Dir())
		forget(t, disk)
		flip(t, disk, 39, 65, 0)
	})
	b.met("no guard", TornTail)
	b.whole(b.log("t"), 0, 39)
	must(t, guarded(b.disk, b.log("t"), true)) // and it has one now
}

func TestATornWriteIsCutBehindWhatIsGuarded(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	b.fill(l, 30)
	must(t, b.e.Checkpoint())
	b.fill(l, 10)
	b.killed(func(disk *fs.Crash) {
		forget(t, disk)
		flip(t, disk, 35, 65, 0)
	})
	b.met("torn", HoledTail)
	b.whole(b.log("t"), 0, 35)
	must(t, guarded(b.disk, b.log("t"), true))
}

func TestASegmentThatEndsBelowItsGuardIsOffline(t *testing.T) {
	for name, by := range map[string]int{"within a batch": 37, "at a batch": 180} {
		for _, clean := range []bool{true, false} {
			b := newBench(t)
			l := b.create("t", Config{})
			b.fill(l, 40)
			must(t, b.e.Checkpoint())
			shorten := func(disk *fs.Crash) {
				whole := read(t, disk, firstLog)
				overwrite(t, disk, firstLog, whole[:len(whole)-by])
			}
			if clean {
				b.stop()
				forget(t, b.disk)
				shorten(b.disk)
				b.open()
			} else {
				b.killed(shorten)
			}
			l, _ = b.e.Log(Name{"t", 0})
			if StateOf(l.Err()) != EndBelowGuard {
				t.Errorf("%s, after an orderly stop %t: %v", name, clean, l.Err())
			}
			b.stop()
			overwrite(t, b.disk, guard.Name("/data/t-0", 0), nil) // what the error tells to do where the file is right
			b.open()
			b.log("t")
			b.stop()
		}
	}
}

func TestAGuardThatIsShortTornOldOrGarbageIsNoHarm(t *testing.T) {
	for name, hurt := range map[string]func(b []byte) []byte{
		"none":    func(b []byte) []byte { return nil },
		"empty":   func(b []byte) []byte { return []byte{} },
		"short":   func(b []byte) []byte { return b[:len(b)-5] },
		"garbage": func(b []byte) []byte { return []byte("garbage, garbage, garbage, garbage, garbage") },
		"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
		"torn":    func(b []byte) []byte { b[5] ^= 1; return b },
		"more":    func(b []byte) []byte { return append(b, 1, 2, 3) },
	} {
		b := newBench(t)
		l := b.create("t", Config{})
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		b.killed(func(disk *fs.Crash) {
			forget(t, disk)
			overwrite(t, disk, guard.Name(l.Dir(), 0), hurt(read(t, disk, guard.Name(l.Dir(), 0))))
		})
		b.whole(b.log("t"), 0, 40)
		if n := b.e.Recovery().States[GuardDamaged]; (n == 0) != (name == "none" || name == "empty" || name == "zeros") {
			t.Errorf("%s: %v", name, b.e.Recovery().States)
		}
		b.fill(b.log("t"), 10)
		must(t, b.e.Checkpoint())
		must(t, guarded(b.disk, b.log("t"), false))
		b.stop()
	}
}

func TestGuardsGoWithTheirSegments(t *testing.T) {
	b := newBench(t)
	c := small()
	c.RetentionBytes = 4000
	l := b.create("t", c)
	b.fill(l, 60)
	must(t, b.e.Checkpoint())
	must(t, b.e.Retain())
	must(t, l.Truncate(l.LogEndOffset()-15))
	b.fill(l, 5)
	must(t, b.e.Checkpoint())
	must(t, guarded(b.disk, l, true))
	guards := 0
	for _, name := range list(t, b.disk, l.Dir()) {
		if isGuard(name) {
			guards++
		}
	}
	if guards != l.Segments() || guards < 2 {
		t.Errorf("%d guards of %d segments", guards, l.Segments())
	}
}

// cutAgain is a workload of truncations and other records in their place.
func cutAgain(e *Engine, h how, plant planted) error {
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, crashConfig(h, false))
	if err != nil {
		return err
	}
	l.w.planted = plant
	for round := range 6 {
		for i := range 12 {
			id := fmt.Sprintf("%d.%d", round, i)
			if r := appendOne(l, batchOf(id, 1, 300+10*round, testNow, -1, 0)); r.Err != nil {
				return r.Err
			}
		}
		if err := e.Checkpoint(); err != nil {
			return err
		}
		if err := l.Truncate(l.LogEndOffset() - 7); err != nil {
			return err
		}
	}
	return nil
}

// alarms runs the workload, and opens what a cut before every call leaves, until a guard has alarmed.
func alarms(t *testing.T, h how, plant planted) error {
	t.Helper()
	k := newCuts(t, crashDisk(7), &account{}, 1, func(c *cut) error {
		e, err := Open(crashOptions(c.disk, h))
		if err != nil {
			return err
		}
		for _, l := range e.Logs() {
			if err := errors.Join(l.Err(), guarded(c.disk, l, false)); err != nil {
				return errors.Join(err, e.Close())
			}
		}
		return e.Close()
	})
	every := 7
	if long() {
		every = 1
	}
	k.everyCall(every, fs.DropUnflushed, fs.KeepAll, fs.Random)
	e, err := Open(crashOptions(k.disk, h))
	must(t, err)
	must(t, cutAgain(e, h, plant))
	must(t, e.Close())
	errs := k.finish()
	t.Logf("%d cuts", k.taken)
	return errors.Join(errs...)
}

func TestNoCutBesideATruncationLeavesAGuardThatAlarms(t *testing.T) {
	for _, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			must(t, alarms(t, h, planted{}))
			if err := alarms(t, h, planted{stale: true}); err == nil {
				t.Error("a guard that a truncation leaves as it was is not missed")
			}
		})
	}
}

// Apache Kafka removes, when it loads a log, every file of its folder that ends in .deleted (LogLoader), and only then appends, cuts or
// compacts.
func TestWhatKafkaDidToALogIsNotHeldAgainstWhatItWasBefore(t *testing.T) {
	for _, clean := range []bool{true, false} {
		b := newBench(t)
		l := b.create("t", Config{})
		b.fill(l, 40)
		must(t, b.e.Checkpoint())
		must(t, l.Truncate(10)) // what another history has instead
		for range 20 {
			b.add(l, batchOf("other", 1, 33, testNow, -1, 0))
		}
		must(t, b.e.Checkpoint())
		other := read(t, b.disk, firstLog)
		b.stop()

		b = newBench(t)
		l = b.create("t", Config{})
		b.fill(l, 40)
		kafka := func(disk *fs.Crash) {
			for _, name := range list(t, disk, l.Dir()) {
				if strings.HasSuffix(name, segment.DeletedSuffix) {
					must(t, disk.Remove(l.Dir()+"/"+name))
				}
			}
			overwrite(t, disk, firstLog, other)
			forget(t, disk)
		}
		must(t, b.e.Checkpoint())
		if clean {
			b.stop()
			kafka(b.disk)
			b.open()
		} else {
			b.killed(kafka)
		}
		if s := b.scrubbed(); s != "" || b.log("t").LogEndOffset() != 30 {
			t.Errorf("after an orderly stop %t: %q, end %d", clean, s, b.log("t").LogEndOffset())
		}
		must(t, guarded(b.disk, b.log("t"), false))
		b.stop()
	}
}
