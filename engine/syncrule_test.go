package engine

import (
	"bytes"
	"os"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// In sync mode no write goes out before what lies flightBytes before it is flushed. So a good batch that far behind a bad
// one proves that the bad one was flushed, and the disk, not a crash, has lost it.

// syncLog makes a log of batches of 1 MiB that was in sync mode at a checkpoint, with so many MiB behind it.
func syncLog(t *testing.T, mib int, segmentBytes int32) (*bench, *Log) {
	b := newBench(t)
	l := b.create("t", Config{FlushMessages: 1, SegmentBytes: segmentBytes, RetentionAge: -1, Writer: WriterBuffered})
	b.fill(l, 3)
	must(t, b.e.Checkpoint())
	for range mib {
		at := l.LogEndOffset()
		b.add(l, batchOf(batchID(at), 1, 1<<20-100, testNow, -1, 0))
	}
	return b, l
}

func TestInSyncModeAGoodBatchFarBehindABadOneIsProof(t *testing.T) {
	for name, hurt := range map[string]func(disk fs.FS, at int64, size int){
		"a flipped byte": func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+1000, []byte{0xaa}) },
		"a hole":         func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at, make([]byte, size)) },
		"a length":       func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+8, []byte{0x7f}) },
	} {
		for bad, want := range map[int64]bool{5: true, 10: true, 12: false, 24: false} {
			b, l := syncLog(t, 25, 0) // 1 MiB each from offset 3 to 27; flightBytes is 16 MiB
			b.killed(func(disk *fs.Crash) {
				at, size := placeOf(t, disk, firstLog, bad)
				hurt(disk, at, size)
			})
			l, _ = b.e.Log(l.Name())
			var proof *corruption
			if got := asErr(l.Err(), &proof); got != want {
				t.Errorf("%s at offset %d of 28: %v", name, bad, l.Err())
			}
			if !want {
				b.whole(l, 0, bad)
			} else if info, err := b.disk.Stat(firstLog); err != nil || info.Size() < 25<<20 {
				t.Errorf("%s at offset %d: the corrupt file was cut to %d bytes", name, bad, info.Size())
			}
			b.stop()
		}
	}
}

func TestInSyncModeALostEndFarBeforeALaterSegmentIsProof(t *testing.T) {
	for later, want := range map[int]bool{4: false, 22: true} {
		b, l := syncLog(t, 5+later, 6<<20)
		b.killed(func(disk *fs.Crash) {
			at, _ := placeOf(t, disk, firstLog, 5)
			f, err := disk.Open(firstLog, os.O_RDWR)
			must(t, err)
			must(t, f.Truncate(at))
			must(t, f.Close())
		})
		l, _ = b.e.Log(l.Name())
		var proof *corruption
		if got := asErr(l.Err(), &proof); got != want {
			t.Errorf("%d MiB behind the lost end: %v", later, l.Err())
		}
		if !want {
			b.whole(l, 0, 5)
		}
		b.stop()
	}
}

func TestTheRuleAsksHowTheLogWasWritten(t *testing.T) {
	toAsync := func(b *bench, l *Log) {
		c := l.Config()
		c.FlushMessages = 0
		l.SetConfig(c)
		at := l.LogEndOffset()
		b.add(l, batchOf(batchID(at), 1, 1<<20-100, testNow, -1, 0))
	}
	for name, c := range map[string]struct {
		before, after func(b *bench, l *Log)
		lose          bool
	}{
		"async all the time":         {before: toAsync},
		"async after the checkpoint": {after: toAsync},
		"no record of the mode":      {lose: true},
	} {
		b := newBench(t)
		l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
		b.fill(l, 3)
		if c.before != nil {
			c.before(b, l)
		}
		must(t, b.e.Checkpoint())
		first := l.LogEndOffset()
		if c.after != nil {
			c.after(b, l)
		}
		for range 25 {
			at := l.LogEndOffset()
			b.add(l, batchOf(batchID(at), 1, 1<<20-100, testNow, -1, 0))
		}
		b.killed(func(disk *fs.Crash) {
			at, _ := placeOf(t, disk, firstLog, first+1)
			patch(t, disk, firstLog, at+1000, []byte{0xaa})
			if c.lose {
				overwrite(t, disk, "/data/"+recoveryName, nil)
			}
		})
		l = b.log("t")
		b.whole(l, 0, first+1)
		t.Logf("%s: cut", name)
		b.stop()
	}
}

func TestOneAppendLargerThanTheRuleAllowsForTakesThePromiseBack(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		b.stop()
		b.opt.SyncMethod = h.method
		b.open()
		l := b.create("t", Config{FlushMessages: 1, Writer: h.writer})
		b.fill(l, 2)
		must(t, b.e.Checkpoint())
		huge := batchOf("huge", 1, 100, testNow, -1, 0)
		for i := range 20 { // several batches in one append, as a replica's are
			more := batchOf("more", 1, 1<<20-100, testNow, -1, 0)
			more.Batches[0].Position = len(huge.Bytes)
			huge.Bytes = append(huge.Bytes[:len(huge.Bytes):len(huge.Bytes)], more.Bytes...)
			huge.Batches = append(huge.Batches, more.Batches[0])
			_ = i
		}
		taken := false
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if (op == fs.OpWrite || op == fs.OpWriteDurable) && name == firstLog && !taken {
				taken = true
				points, err := parsePoints(read(t, b.disk.Clone(fs.DropUnflushed), "/data/"+recoveryName))
				if err != nil || points[l.Name()].syncFrom != -1 {
					t.Errorf("%s: the write begins with %+v, %v", h.name, points, err)
				}
			}
			return nil
		})
		b.add(l, huge)
		b.disk.SetHook(nil)
		if !taken {
			t.Errorf("%s: no write was seen", h.name)
		}
		if at := l.w.syncFrom.Load(); at != l.LogEndOffset() {
			t.Errorf("%s: promised from %d on, the log ends at %d", h.name, at, l.LogEndOffset())
		}
		b.stop()
	}
}

func TestALogInSyncModeHasNoMoreInFlightThanTheRuleSays(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{FlushMessages: 1, Writer: WriterBuffered})
	hold := make(chan struct{})
	begun := make(chan struct{}, 1000)
	var unflushed, most int64
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		switch {
		case op == fs.OpWrite && name == firstLog:
			begun <- struct{}{}
			<-hold
			unflushed += 1 << 20
			most = max(most, unflushed)
		case op == fs.OpDatasync && name == firstLog:
			unflushed = 0
		}
		return nil
	})
	answers := make(chan Appended, 100)
	for i := range 60 {
		l.Append(batchOf("x", 1, 1<<20-100, testNow, -1, 0), 0, func(a Appended) { answers <- a })
		if i == 0 {
			<-begun // all others wait together
		}
	}
	close(hold)
	for range 60 {
		if a := <-answers; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	b.disk.SetHook(nil)
	if most > flightBytes {
		t.Errorf("%d bytes were written and not flushed, the rule says %d", most, flightBytes)
	}
}

func TestPointsComeBackAsTheyWereAndGarbageIsRefused(t *testing.T) {
	want := map[Name]point{
		{"a", 0}:        {100, 40, testNow, 90, 12},
		{"a", 10}:       pointAt(7),
		{"b.c_d-e", 3}:  {0, 0, -1, 0, -1},
		{"zz", 1 << 30}: {1 << 62, 1 << 61, 1 << 60, 1 << 61, 0},
	}
	b := appendPoints(nil, want)
	got, err := parsePoints(b)
	must(t, err)
	if len(got) != len(want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	for n, p := range want {
		if got[n] != p {
			t.Errorf("%v: %+v, want %+v", n, got[n], p)
		}
	}
	if again := appendPoints(nil, got); !bytes.Equal(again, b) {
		t.Errorf("%q, want %q", again, b)
	}
	for i := range b {
		for _, bad := range [][]byte{b[:i], append(bytes.Clone(b[:i]), append([]byte{b[i] ^ 1}, b[i+1:]...)...)} {
			if _, err := parsePoints(bad); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
	}
	if p, err := parsePoints(appendPoints(nil, nil)); err != nil || len(p) != 0 {
		t.Errorf("no entries: %v %v", p, err)
	}
}
