package engine

import (
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/producer"
)

func TestARetriedBatchIsAnsweredWithTheOriginal(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, true))
		for i := range int32(7) {
			b.add(l, batchOf("x", 2, 10, testNow+int64(i), 7, 2*i))
		}
		for i := range int32(7) {
			r := appendOne(l, batchOf("x", 2, 10, testNow, 7, 2*i))
			if i < 2 { // out of the window of five
				wantErr(t, "too old", r.Err, producer.ErrOutOfOrderSequence)
			} else if r.Err != nil || !r.Duplicate || r.BaseOffset != int64(2*i) || r.LastOffset != int64(2*i+1) {
				t.Errorf("%s: batch %d again: %+v", h.name, i, r)
			}
		}
		r := appendOne(l, batchOf("x", 1, 10, testNow, 7, 15))
		wantErr(t, "a gap", r.Err, producer.ErrOutOfOrderSequence)
		if l.LogEndOffset() != 14 {
			t.Errorf("%s: end %d", h.name, l.LogEndOffset())
		}
		b.stop()
	}
}

func TestARetryBesideItsOriginalWaitsForTheFlush(t *testing.T) {
	for _, h := range ways {
		b := newBench(t)
		l := b.create("t", crashConfig(h, true))
		for i := range int32(50) {
			flushed := make(chan int64, 3)
			for range 3 {
				l.Append(batchOf("x", 1, 10, testNow, 7, i), 0, func(a Appended) {
					if a.Err != nil || a.BaseOffset != int64(i) {
						t.Errorf("%s: batch %d: %+v", h.name, i, a)
					}
					flushed <- l.FlushedOffset()
				})
			}
			for range 3 {
				if at := <-flushed; at <= int64(i) {
					t.Fatalf("%s: batch %d was answered with %d flushed", h.name, i, at)
				}
			}
		}
		b.stop()
	}
}

func TestEpochsOfAProducerOnlyRise(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	in := func(epoch int16, sequence int32) error {
		p := batchOf("x", 1, 10, testNow, 7, sequence)
		p.Batches[0].ProducerEpoch = epoch
		return appendOne(l, p).Err
	}
	must(t, in(0, 0))
	must(t, in(2, 0))
	wantErr(t, "an old epoch", in(1, 1), producer.ErrInvalidEpoch)
	wantErr(t, "a new one that does not start at 0", in(3, 1), producer.ErrOutOfOrderSequence)
	must(t, in(2, 1))
}

func TestProducersAreRememberedAcrossEveryKindOfStart(t *testing.T) { // A15, history 14
	starts := map[string]func(b *bench){
		"an orderly stop": (*bench).restart,
		"a crash":         func(b *bench) { b.crash(fs.DropUnflushed) },
		"a checkpoint and a crash": func(b *bench) {
			must(b.t, b.e.Checkpoint())
			b.crash(fs.DropUnflushed)
		},
		"all records deleted and an orderly stop": func(b *bench) {
			_, err := b.log("t").DeleteRecordsTo(-1)
			must(b.t, err)
			must(b.t, b.e.Retain())
			b.restart()
		},
		"all records deleted and a crash": func(b *bench) {
			_, err := b.log("t").DeleteRecordsTo(-1)
			must(b.t, err)
			must(b.t, b.e.Retain())
			b.crash(fs.DropUnflushed)
		},
		"snapshots lost":    func(b *bench) { loseSnapshots(b, nil) },
		"snapshots garbage": func(b *bench) { loseSnapshots(b, []byte("no snapshot")) },
	}
	for name, start := range starts {
		b := newBench(t)
		l := b.create("t", crashConfig(ways[0], true))
		for i := range int32(60) {
			b.add(l, batchOf("x", 1, 200, testNow, 7, i))
			b.add(l, batchOf("x", 1, 200, testNow, 8, i))
		}
		start(b)
		l = b.log("t")
		if r := appendOne(l, batchOf("x", 1, 200, testNow, 7, 59)); r.Err != nil || !r.Duplicate || r.BaseOffset != 118 {
			t.Errorf("after %s, the last one again: %+v", name, r)
		}
		if r := appendOne(l, batchOf("x", 1, 200, testNow, 8, 61)); r.Err == nil {
			t.Errorf("after %s, a gap: %+v", name, r)
		}
		if r := appendOne(l, batchOf("x", 1, 200, testNow, 8, 60)); r.Err != nil || r.Duplicate || r.BaseOffset != 120 {
			t.Errorf("after %s, the next: %+v", name, r)
		}
		b.stop()
	}
}

// loseSnapshots removes or overwrites all producer snapshots of a killed engine.
func loseSnapshots(b *bench, with []byte) {
	b.t.Helper()
	left := b.disk.Clone(fs.KeepAll)
	b.e.Close()
	b.disk = left
	for _, name := range list(b.t, b.disk, "/data/t-0") {
		if _, kind, ok := splitName(name); ok && kind == ".snapshot" {
			overwrite(b.t, b.disk, "/data/t-0/"+name, with)
		}
	}
	b.open()
}

func TestAnIdleProducerIsForgottenAndThenTakenAtAnySequence(t *testing.T) { // A15
	b := newBench(t)
	b.stop()
	b.opt.ProducerIDExpiration = 10 * time.Second
	b.open()
	l := b.create("t", small())
	b.add(l, batchOf("x", 1, 0, testNow, 7, 0))
	b.now.Add(20_000)
	must(t, b.e.Retain())
	if r := appendOne(l, batchOf("x", 1, 0, testNow, 7, 5)); r.Err != nil || r.BaseOffset != 1 {
		t.Errorf("%+v", r)
	}
}

func TestHowLongAnIdleProducerIsRememberedChangesWhileTheEngineRuns(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.add(l, batchOf("x", 1, 0, testNow, 7, 0))
	b.now.Add(20_000)
	must(t, b.e.Retain())
	if r := appendOne(l, batchOf("x", 1, 0, testNow, 7, 5)); r.Err == nil {
		t.Error("it was forgotten after less than a day")
	}
	b.e.SetProducerIDExpiration(10 * time.Second)
	must(t, b.e.Retain())
	if r := appendOne(l, batchOf("x", 1, 0, testNow, 7, 5)); r.Err != nil || r.BaseOffset != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAFailedAppendLeavesTheProducerWhereItWas(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{SegmentBytes: 1000})
	b.add(l, batchOf("x", 1, 0, testNow, 7, 0))
	wantErr(t, "too large", appendOne(l, batchOf("x", 1, 2000, testNow, 7, 1)).Err, ErrTooLargeForSegment)
	b.e.space.left.Store(0)
	wantErr(t, "no room", appendOne(l, batchOf("x", 1, 0, testNow, 7, 1)).Err, ErrNoSpace)
	b.e.space.measure(b.e)
	if r := appendOne(l, batchOf("x", 1, 0, testNow, 7, 1)); r.Err != nil || r.Duplicate || r.BaseOffset != 1 {
		t.Errorf("%+v", r)
	}
}

// Retention took the records between an old snapshot and the first one that is left, and with them the marker of a transaction
// that the snapshot has as open. Kafka does not read such a snapshot either: the last stable offset would stay there for ever.
func TestASnapshotFromBeforeTheFirstRecordIsNotBelieved(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.add(l, inTxn(7, 0, 1))
	must(t, b.e.Checkpoint()) // the snapshot
	b.add(l, inTxn(7, 1, 3))
	b.end(l, 7, true)
	b.fill(l, 40)
	first := l.LogEndOffset() - 5
	_, err := l.DeleteRecordsTo(first)
	must(t, err)
	must(t, b.e.Retain())
	must(t, l.Truncate(first/2)) // below every segment, and above the snapshot
	b.fill(l, 1)
	b.stable(l, l.LogEndOffset())
	if r := appendOne(l, inTxn(7, 4, 1)); r.Err != nil {
		t.Errorf("the producer goes on: %v", r.Err)
	}
}

// A start after a kill puts staged records into segments without a snapshot where they begin. What retention deletes of them
// must not take along what their producers are at, else a truncation forgets that a transaction is open.
func TestRetentionKeepsProducersOfRecordsThatAStartPutIntoSegments(t *testing.T) {
	b := newBench(t)
	b.stop()
	b.opt.StageBytes = 0
	b.open()
	l := b.create("t", small())
	b.add(l, inTxn(7, 0, 1))
	b.fill(l, 14)
	b.crash(fs.KeepAll)
	l = b.log("t")
	if l.Segments() < 2 {
		t.Fatalf("%d segments", l.Segments())
	}
	c := small()
	c.RetentionBytes = 500
	l.SetConfig(c)
	must(t, b.e.Retain())
	start := l.LogStartOffset()
	if start == 0 {
		t.Fatal("nothing was deleted")
	}
	b.stable(l, start)
	must(t, l.Truncate(l.LogEndOffset()-1))
	b.stable(l, start)
	if r := appendOne(l, inTxn(7, 5, 1)); r.Err == nil {
		t.Errorf("a gap in the sequence: %+v", r)
	}
}
