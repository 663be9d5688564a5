package engine

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/record"
)

func TestAppendsGetDenseOffsetsInTheirOrder(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, true))
		got := make(chan Appended, 100)
		for i := range 100 {
			l.Append(batchOf("x", 1+i%3, 10, testNow, -1, 0), 0, func(a Appended) { got <- a })
		}
		next := int64(0)
		for i := range 100 {
			a := <-got
			if a.Err != nil || a.BaseOffset != next || a.LastOffset != next+int64(i%3) || a.LogAppendTimeMs != -1 || a.Duplicate {
				t.Fatalf("%s: append %d: %+v, want offset %d", h.name, i, a, next)
			}
			next = a.LastOffset + 1
		}
		if l.LogEndOffset() != next || l.FlushedOffset() != next {
			t.Errorf("%s: end %d, flushed %d, want %d", h.name, l.LogEndOffset(), l.FlushedOffset(), next)
		}
		b.stop()
	}
}

func TestTheLeaderEpochIsStampedAndRemembered(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for epoch := range int32(4) {
		for range 5 {
			p := batchOf("x", 2, 0, testNow, -1, 0)
			done := make(chan Appended, 1)
			l.Append(p, 2*epoch, func(a Appended) { done <- a })
			<-done
		}
	}
	check := func(l *Log) {
		t.Helper()
		for epoch := range int32(4) {
			found, end := l.EndOffsetForEpoch(2*epoch + 1)
			if epoch < 3 && (found != 2*epoch || end != int64(10*epoch+10)) {
				t.Errorf("epoch %d ends at %d (%d)", 2*epoch, end, found)
			}
			if e := l.EpochAt(int64(10*epoch + 3)); e != 2*epoch {
				t.Errorf("epoch of offset %d: %d", 10*epoch+3, e)
			}
		}
		if l.LatestEpoch() != 6 {
			t.Errorf("latest epoch %d", l.LatestEpoch())
		}
		all, err := contents(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if want := int32(s.base) / 10 * 2; s.b.PartitionLeaderEpoch() != want {
				t.Errorf("batch at %d has epoch %d, want %d", s.base, s.b.PartitionLeaderEpoch(), want)
			}
		}
	}
	check(l)
	b.restart()
	check(b.log("t"))
}

func TestAppendsAreRefusedWithWhatIsWrong(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{SegmentBytes: 1000})
	wantErr(t, "larger than a segment", appendOne(l, batchOf("x", 1, 1200, testNow, -1, 0)).Err, ErrTooLargeForSegment)
	if r := appendOne(l, batchOf("x", 1, 10, testNow, -1, 0)); r.Err != nil || r.BaseOffset != 0 {
		t.Errorf("the next one: %+v", r)
	}
	for _, n := range []Name{{"", 0}, {".", 0}, {"..", 0}, {"a b", 0}, {"a/b", 0}, {"a", -1}, {string(make([]byte, 250)), 0}} {
		if _, err := b.e.Create(n, [16]byte{}, Config{}); err == nil {
			t.Errorf("a log called %q, %d was made", n.Topic, n.Partition)
		}
	}
	_, err := b.e.Create(l.Name(), [16]byte{}, Config{})
	wantErr(t, "a second log of the name", err, ErrExists)
	b.stop()
	r := appendOne(l, batchOf("x", 1, 10, testNow, -1, 0))
	wantErr(t, "append after the stop", r.Err, ErrClosed)
	if r.BaseOffset != -1 || r.LastOffset != -1 || r.LogAppendTimeMs != -1 {
		t.Errorf("refused: %+v", r)
	}
	_, err = l.Read(0, 100, true)
	wantErr(t, "read after the stop", err, ErrClosed)
	_, err = b.e.Create(Name{"u", 0}, [16]byte{}, Config{})
	wantErr(t, "create after the stop", err, ErrClosed)
	wantErr(t, "second stop", b.e.Close(), ErrClosed)
	wantErr(t, "flush after the stop", l.Flush(), ErrClosed)
	wantErr(t, "truncate after the stop", l.Truncate(0), ErrClosed)
	wantErr(t, "delete after the stop", b.e.Delete(l.Name()), ErrClosed)
	wantErr(t, "checkpoint after the stop", errors.Join(b.e.Checkpoint(), b.e.Retain()), ErrClosed)
}

func TestLogAppendTimeIsTheBrokersTime(t *testing.T) { // A7
	b := newBench(t)
	l := b.create("t", small())
	appendAt := func(now int64, timestamp int64) Appended {
		bld := record.NewBuilder(record.Gzip)
		for range 3 {
			bld.Add(timestamp, nil, []byte("v"))
		}
		rules := record.DefaultRules(now)
		rules.LogAppendTime = true
		p := new(record.Prepared)
		if err := p.Prepare(bld.Bytes(), rules); err != nil {
			t.Fatal(err)
		}
		return appendOne(l, p)
	}
	if a := appendAt(testNow, 4_102_444_800_000); a.LogAppendTimeMs != testNow {
		t.Errorf("year 2100: %+v", a)
	}
	if a := appendAt(testNow+2000, 0); a.LogAppendTimeMs != testNow+2000 {
		t.Errorf("year 1970: %+v", a)
	}
	if at, err := l.OffsetForTime(testNow + 1); err != nil || at.Offset != 3 || at.Timestamp != testNow+2000 {
		t.Errorf("look-up: %+v %v", at, err)
	}
	b.restart()
	if at, err := b.log("t").MaxTimestamp(); err != nil || at.Offset != 3 || at.Timestamp != testNow+2000 {
		t.Errorf("max timestamp: %+v %v", at, err)
	}
}

func TestSegmentsRollBySize(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		c := crashConfig(h, true)
		c.SegmentBytes = 2000
		l := b.create("t", c)
		end := b.fill(l, 50)
		for _, s := range *l.view.Load() {
			if s.Size() > 2000 {
				t.Errorf("%s has %d bytes", s.Path(), s.Size())
			}
			if info, err := b.disk.Stat(s.Path()); err != nil || !s.Direct() && info.Size() != s.Size() {
				t.Errorf("%s: file of %v bytes, %v", s.Path(), info, err)
			}
		}
		if n := l.Segments(); n < 4 || n > 8 {
			t.Errorf("%d segments", n)
		}
		b.whole(l, 0, end)
		b.restart()
		b.whole(b.log("t"), 0, end)
		b.stop()
	}
}

func TestSegmentsRollWhenAnIndexIsFull(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{IndexBytes: 60, IndexInterval: 1})
	end := b.fill(l, 50)
	if l.Segments() < 8 {
		t.Errorf("%d segments for %d batches with indexes of 5 entries", l.Segments(), end)
	}
	b.whole(l, 0, end)
	b.crash(0)
	b.whole(b.log("t"), 0, 0) // async and never flushed
}

func TestSegmentsRollWhenOffsetsWouldNotFitTheIndex(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	// A batch that compaction has left: one record, and a span of 2^30 offsets.
	wide := func() *record.Prepared {
		p := batchOf("x", 1, 0, testNow, -1, 0)
		p.Batches[0].LastOffsetDelta = 1 << 30
		p.Bytes[23] = 1 << 6 // the last offset delta of the header
		return p
	}
	for range 5 {
		b.add(l, wide())
	}
	for _, s := range *l.view.Load() {
		if l.LogEndOffset()-s.Base > 5*(1<<30+1) {
			t.Error(s.Base)
		}
	}
	if l.Segments() != 5 { // two of them would reach 2^31+1
		t.Errorf("%d segments for 5 batches that span %d offsets each", l.Segments(), 1<<30+1)
	}
	if l.LogEndOffset() <= math.MaxInt32 {
		t.Errorf("end %d", l.LogEndOffset())
	}
}

func TestRollsByAgeGoByTheTimeOfRecords(t *testing.T) { // A9
	week := 7 * 24 * time.Hour
	at := func(d time.Duration) int64 { return testNow + d.Milliseconds() }
	b := newBench(t)
	old := b.create("old", Config{})
	for i := range 500 { // dated 30 days ago, a minute apart
		b.add(old, batchOf("x", 1, 0, at(-30*24*time.Hour+time.Duration(i)*time.Minute), -1, 0))
	}
	if n := old.Segments(); n > 2 {
		t.Errorf("%d segments for a day of old records", n)
	}
	apart := b.create("apart", Config{SegmentAge: week, RetentionAge: -1})
	for i := range 60 { // each 8 days after the one before
		b.add(apart, batchOf("x", 1, 0, at(time.Duration(i-60)*8*24*time.Hour), -1, 0))
	}
	if n := apart.Segments(); n != 60 {
		t.Errorf("%d segments for 60 batches 8 days apart", n)
	}
	idle := b.create("idle", Config{SegmentAge: time.Second})
	b.now.Add(10_000)
	if err := b.e.Retain(); err != nil {
		t.Error(err)
	}
	b.add(idle, batchOf("x", 1, 0, -1, -1, 0))
	if n := idle.Segments(); n != 1 {
		t.Errorf("%d segments of an idle log with one record", n)
	}
	b.restart()
	idle = b.log("idle")
	idle.SetConfig(Config{SegmentAge: time.Second})
	b.now.Add(10_000)
	b.add(idle, batchOf("x", 1, 0, -1, -1, 0)) // a record without time: by the clock
	if n := idle.Segments(); n != 2 {
		t.Errorf("%d segments, want 2", n)
	}
}
