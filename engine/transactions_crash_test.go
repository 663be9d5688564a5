package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

// txnScript runs transactions on a sync and an async log, the same for every run of a seed, and comes to every place where a
// disk call is made for them.
func txnScript(e *Engine, h how, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	var logs []*Log
	for _, sync := range []bool{true, false} {
		c := crashConfig(h, sync)
		c.SegmentBytes = 1500
		l, err := e.Create(Name{fmt.Sprint("txn-", sync), 0}, [16]byte{1}, c)
		if err != nil {
			return err
		}
		logs = append(logs, l)
	}
	next := map[*Log][5]int32{}
	for n := range 60 {
		for _, l := range logs {
			id := rng.Int64N(5)
			seq := next[l]
			r := Appended{}
			if rng.IntN(3) == 0 {
				r = endOne(l, Marker{ProducerID: id, Commit: rng.IntN(3) == 0})
			} else {
				r = appendOne(l, inTxn(id, seq[id], 1))
				seq[id]++
			}
			if r.Err != nil {
				return r.Err
			}
			next[l] = seq
		}
		var err error
		switch n {
		case 20, 45:
			err = e.Checkpoint()
		case 30:
			err = logs[1].Flush()
		case 50:
			err = logs[0].Truncate(logs[0].LogEndOffset() - 10)
			next[logs[0]] = sequences(logs[0])
		}
		if err != nil {
			return err
		}
	}
	return e.Checkpoint()
}

func sequences(l *Log) (next [5]int32) {
	for _, p := range l.Producers() {
		next[p.ID] = p.LastSequence + 1
	}
	return next
}

// sound holds what a log says of its transactions against what its records say.
func sound(l *Log) error {
	m := &txnModel{log: l, start: l.LogStartOffset()}
	for at := m.start; at < l.HighWatermark(); {
		r, err := l.Read(at, 1<<20, true)
		if err != nil {
			return err
		}
		b, err := r.Bytes()
		r.Release()
		if err != nil {
			return err
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				return err
			}
			e, ok := batch.EndTxn()
			m.list = append(m.list, txnEntry{batch.BaseOffset(), batch.LastOffset(), batch.ProducerID(), ok, e.Commit})
			b, at = rest, batch.LastOffset()+1
		}
	}
	if l.LastStableOffset() != m.stable() {
		return fmt.Errorf("%s: last stable offset %d of %d, want %d", l.name, l.LastStableOffset(), m.end(), m.stable())
	}
	for from := m.start; from <= m.end(); from += 7 {
		got, err := committedOf(l, from, 1000)
		if want := m.committed(from); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("%s: committed records from %d on: %v, %v; want %v", l.name, from, got, err, want)
		}
	}
	_, aborted := m.transactions()
	list, err := l.AbortedTransactions(m.start, m.end())
	same := slices.EqualFunc(list, aborted, func(a AbortedTxn, e txnEntry) bool { return a.ProducerID == e.producer && a.FirstOffset == e.base })
	if err != nil || !same {
		return fmt.Errorf("%s: aborted %v, %v; want %v", l.name, list, err, aborted)
	}
	return nil
}

// after opens an engine on a disk, looks, goes on and looks again.
func after(disk *fs.Crash, h how) error {
	e, err := Open(crashOptions(disk, h))
	if err != nil {
		return err
	}
	for _, l := range e.Logs() {
		err = errors.Join(err, l.Err(), sound(l))
		if err == nil && endOne(l, Marker{ProducerID: 1}).Err == nil {
			err = errors.Join(appendOne(l, inTxn(1, sequences(l)[1], 2)).Err, endOne(l, Marker{ProducerID: 1}).Err, sound(l))
		}
	}
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	if e, err = Open(crashOptions(disk, h)); err != nil {
		return err
	}
	for _, l := range e.Logs() {
		err = errors.Join(err, sound(l))
	}
	return errors.Join(err, e.Close(), errors.Join(disk.Violations()...))
}

func TestWhatTransactionsAreOpenAndAbortedIsKnownAfterACutAtAnyDiskCall(t *testing.T) {
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(700 + i)
			disk := crashDisk(seed)
			e := open(t, crashOptions(disk, h))
			k := newCuts(t, disk, &account{}, 1, func(c *cut) error { return after(c.disk, h) })
			k.everyCall(int(stride(11)), fs.DropUnflushed, fs.KeepAll, fs.Random)
			must(t, txnScript(e, h, seed))
			must(t, e.Close())
			for _, err := range k.finish() {
				t.Fatalf("seed %d: %v", seed, err)
			}
			t.Logf("seed %d: %d cuts", seed, k.taken)
		})
	}
}

func TestADiskCallThatFailsOnceLeavesTransactionsAsTheyAre(t *testing.T) {
	h, seed := ways[0], uint64(800)
	n := int64(1)
	for ; ; n += stride(7) {
		disk := crashDisk(seed)
		_, what := failing(disk, n, errFault)
		e, err := Open(crashOptions(disk, h))
		if err == nil {
			_ = txnScript(e, h, seed)
			_ = e.Close()
		}
		disk.SetHook(nil)
		for _, p := range []fs.Policy{fs.DropUnflushed, fs.KeepAll} {
			if err := after(disk.Clone(p), h); err != nil {
				t.Fatalf("seed %d, call %d failed: %s: %v", seed, n, text(what), err)
			}
		}
		if what.Load() == nil {
			break
		}
	}
	t.Logf("one in %d of %d calls", stride(7), n)
}

var errFault = errors.New("planted fault")

// TestTheCheckOfTransactionsFindsALostEntry takes an entry off an index behind the engine's back.
func TestTheCheckOfTransactionsFindsALostEntry(t *testing.T) {
	h := ways[0]
	disk := crashDisk(900)
	e := open(t, crashOptions(disk, h))
	must(t, txnScript(e, h, 900))
	must(t, e.Close())
	must(t, after(disk.Clone(fs.KeepAll), h))
	entries, err := disk.ReadDir("/data/txn-true-0")
	must(t, err)
	for _, entry := range entries {
		name := "/data/txn-true-0/" + entry.Name()
		if b := []byte(nil); strings.HasSuffix(name, ".txnindex") {
			if b = read(t, disk, name); len(b) > 0 {
				overwrite(t, disk, name, b[:len(b)-index.TxnWidth])
				break
			}
		}
	}
	if err := after(disk.Clone(fs.KeepAll), h); err == nil {
		t.Error("an aborted transaction is missing from its index, and nobody noticed")
	} else {
		t.Log(err)
	}
}
