package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// timed builds a batch with these timestamps.
func timed(timestamps ...int64) *record.Prepared {
	b := record.NewBuilder(record.None)
	for _, ts := range timestamps {
		b.Add(ts, nil, []byte("v"))
	}
	rules := record.DefaultRules(testNow)
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), rules); err != nil {
		panic(err)
	}
	return p
}

func wantTime(t *testing.T, what string, got TimeOffset, err error, offset, timestamp int64) {
	t.Helper()
	if err != nil || got.Offset != offset || got.Timestamp != timestamp {
		t.Errorf("%s: offset %d, timestamp %d, %v; want %d, %d", what, got.Offset, got.Timestamp, err, offset, timestamp)
	}
}

func TestTimeLookUpsFindTheFirstRecordFromThenOn(t *testing.T) { // A6
	b := newBench(t)
	l := b.create("t", small())
	for _, q := range []int64{-1, 0, 5} {
		at, err := l.OffsetForTime(q)
		wantTime(t, "an empty log", at, err, -1, -1)
	}
	at, err := l.MaxTimestamp()
	wantTime(t, "newest of an empty log", at, err, -1, -1)
	for _, ts := range []int64{2, 4, 6, 8} {
		b.add(l, timed(ts))
	}
	for q := int64(1); q <= 9; q++ {
		at, err := l.OffsetForTime(q)
		want := (q+1)/2 - 1
		if q == 9 {
			wantTime(t, "9", at, err, -1, -1)
		} else {
			wantTime(t, fmt.Sprint(q), at, err, want, 2*(want+1))
		}
	}
	b.add(l, timed(10, 30, 20))
	at, err = l.MaxTimestamp()
	wantTime(t, "newest", at, err, 5, 30)
	at, err = l.OffsetForTime(11)
	wantTime(t, "11", at, err, 5, 30)
	if _, err := l.DeleteRecordsTo(3); err != nil {
		t.Fatal(err)
	}
	at, err = l.OffsetForTime(2)
	wantTime(t, "2 after the log start moved", at, err, 3, 8)
	// The newest record is below the log start, in a batch that is not.
	if _, err := l.DeleteRecordsTo(6); err != nil {
		t.Fatal(err)
	}
	at, err = l.MaxTimestamp()
	wantTime(t, "newest of what is left of a batch", at, err, 6, 20)
	at, err = l.OffsetForTime(25)
	wantTime(t, "25", at, err, -1, -1)
	b.add(l, timed(26))
	at, err = l.OffsetForTime(25)
	wantTime(t, "25, behind a batch with an older match below the log start", at, err, 7, 26)
	if _, err := l.DeleteRecordsTo(-1); err != nil {
		t.Fatal(err)
	}
	at, err = l.MaxTimestamp()
	wantTime(t, "newest with all deleted", at, err, -1, -1)
}

func TestTheFirstOfEqualTimestampsIsFound(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for range 60 {
		b.add(l, timed(testNow, testNow))
	}
	for range 2 {
		at, err := l.MaxTimestamp()
		wantTime(t, "newest", at, err, 0, testNow)
		at, err = l.OffsetForTime(testNow)
		wantTime(t, "first", at, err, 0, testNow)
		b.restart()
		l = b.log("t")
	}
}

func TestRecordsWithoutTimeAreFoundByNoTime(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	for range 40 {
		b.add(l, timed(-1))
	}
	for range 2 {
		at, err := l.OffsetForTime(0)
		wantTime(t, "0", at, err, -1, -1)
		at, err = l.MaxTimestamp()
		wantTime(t, "newest", at, err, -1, -1)
		b.restart()
		l = b.log("t")
	}
}

// timesOf are all records that may be read, for slow look-ups.
func timesOf(t *testing.T, l *Log) (all []TimeOffset) {
	t.Helper()
	batches, err := contents(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range batches {
		for r := range s.b.Records(0) {
			if r.Offset >= l.LogStartOffset() {
				all = append(all, TimeOffset{r.Timestamp, r.Offset, 0})
			}
		}
	}
	return all
}

func slowOffsetForTime(all []TimeOffset, t int64) TimeOffset {
	for _, r := range all {
		if r.Timestamp >= t {
			return r
		}
	}
	return none
}

func slowMaxTimestamp(all []TimeOffset) TimeOffset {
	best := none
	for _, r := range all {
		if r.Timestamp > best.Timestamp {
			best = r
		}
	}
	return best
}

func TestTimeLookUpsAgreeWithAReadOfEverything(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 6))
		b := newBench(t)
		l := b.create("t", small())
		for step := range 6 {
			for i := range 30 {
				ts := testNow + int64(rng.IntN(1000))
				if seed%3 == 1 {
					ts = testNow - int64(i) // falling: the first is the newest
				}
				b.add(l, batchOf(fmt.Sprint(step, "-", i), 1+rng.IntN(3), rng.IntN(200), ts, -1, 0))
			}
			switch step {
			case 1:
				if _, err := l.DeleteRecordsTo(l.LogEndOffset() / 3); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := l.Truncate(l.LogEndOffset() - 17); err != nil {
					t.Fatal(err)
				}
			case 3:
				b.restart()
				l = b.log("t")
				l.SetConfig(small())
			case 4:
				if err := b.e.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				b.fill(l, 3)
				b.crash([]fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random}[seed%3])
				l = b.log("t")
				l.SetConfig(small())
			}
			all := timesOf(t, l)
			for q := int64(testNow - 40); q < testNow+1010; q += 7 {
				at, err := l.OffsetForTime(q)
				want := slowOffsetForTime(all, q)
				wantTime(t, fmt.Sprintf("seed %d, step %d, time %d", seed, step, q-testNow), at, err, want.Offset, want.Timestamp)
			}
			at, err := l.MaxTimestamp()
			want := slowMaxTimestamp(all)
			wantTime(t, fmt.Sprintf("seed %d, step %d, newest", seed, step), at, err, want.Offset, want.Timestamp)
		}
		b.stop()
	}
}
