package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A txnModel is a log of transactions as a list: what the engine says of the log can be read off it.
type txnModel struct {
	t     *testing.T
	b     *bench
	r     *rand.Rand
	sync  bool
	log   *Log
	start int64
	list  []txnEntry
}

// txnEntry is a batch of a producer, of none, or a marker.
type txnEntry struct {
	base, last int64
	producer   int64 // -1: none
	marker     bool
	commit     bool
}

func (m *txnModel) end() int64 {
	if n := len(m.list); n > 0 {
		return m.list[n-1].last + 1
	}
	return 0
}

// transactions returns where each open transaction began, and those that were aborted, in the order of their markers.
func (m *txnModel) transactions() (open map[int64]int64, aborted []txnEntry) {
	open = map[int64]int64{}
	for _, e := range m.list {
		first, is := open[e.producer]
		switch {
		case e.marker && is && !e.commit:
			aborted = append(aborted, txnEntry{base: first, last: e.last, producer: e.producer})
			delete(open, e.producer)
		case e.marker:
			delete(open, e.producer)
		case e.producer >= 0 && !is:
			open[e.producer] = e.base
		}
	}
	return open, aborted
}

func (m *txnModel) stable() int64 {
	at := m.end()
	open, _ := m.transactions()
	for _, first := range open {
		at = min(at, max(first, m.start))
	}
	return at
}

// committed lists the offsets that a reader of committed records sees from an offset on.
func (m *txnModel) committed(from int64) (offsets []int64) {
	stable := m.stable()
	if from >= stable {
		return nil
	}
	_, aborted := m.transactions()
	for _, e := range m.list {
		gone := slices.ContainsFunc(aborted, func(a txnEntry) bool { return a.producer == e.producer && a.base <= e.base && e.base <= a.last })
		for o := e.base; o <= e.last && !gone && !e.marker; o++ {
			if e.last >= from && o < stable {
				offsets = append(offsets, o)
			}
		}
	}
	return offsets
}

func (m *txnModel) sequence(producer int64) (n int32) {
	for _, e := range m.list {
		if e.producer == producer && !e.marker {
			n += int32(e.last - e.base + 1)
		}
	}
	return n
}

func (m *txnModel) put(producer int64, n int) {
	p := batchOf("plain", n, 20, testNow, -1, 0)
	if producer >= 0 {
		p = inTxn(producer, m.sequence(producer), n)
	}
	base := m.b.add(m.log, p)
	m.list = append(m.list, txnEntry{base: base, last: base + int64(n) - 1, producer: producer})
}

func (m *txnModel) mark(producer int64, commit bool) {
	at := m.b.end(m.log, producer, commit)
	m.list = append(m.list, txnEntry{base: at, last: at, producer: producer, marker: true, commit: commit})
}

// forget takes off what does not lie below an offset as a whole.
func (m *txnModel) forget(offset int64) {
	m.list = slices.DeleteFunc(m.list, func(e txnEntry) bool { return e.last >= offset })
	m.start = min(m.start, m.end())
}

// step does something to both.
func (m *txnModel) step() (what string) {
	switch n := m.r.IntN(100); {
	case n < 35:
		m.put(m.r.Int64N(5), 1+m.r.IntN(3))
		return "records of a transaction"
	case n < 50:
		m.put(-1, 1+m.r.IntN(3))
		return "plain records"
	case n < 80:
		m.mark(m.r.Int64N(5), m.r.IntN(2) == 0)
		return "a marker"
	case n < 84:
		must(m.t, m.b.e.Checkpoint())
		return "a checkpoint"
	case n < 87:
		m.b.restart()
		m.log = m.b.log("t")
		return "a restart"
	case n < 92:
		m.crash()
		return "a crash"
	case n < 96 && m.end() > m.start:
		at := m.end() - m.r.Int64N(min(m.end()-m.start, 40)+1)
		must(m.t, m.log.Truncate(at))
		m.forget(at)
		return fmt.Sprint("a truncation to ", at)
	case n < 98:
		at, err := m.log.DeleteRecordsTo(m.start + m.r.Int64N(m.end()-m.start+1)/4)
		must(m.t, err)
		m.start = at
		return fmt.Sprint("a deletion below ", at)
	}
	must(m.t, m.b.e.Retain())
	return "retention"
}

// crash cuts the power, or kills the process. An async log may lose records with the power, from its end on.
func (m *txnModel) crash() {
	policy := fs.KeepAll
	if m.sync || m.r.IntN(2) == 0 {
		policy = fs.DropUnflushed
	}
	before := m.end()
	m.b.crash(policy)
	l, ok := m.b.e.Log(Name{"t", 0})
	if !ok { // nothing of it was flushed
		l = m.b.create("t", small())
	}
	must(m.t, l.Err())
	m.log = l
	if end := l.LogEndOffset(); end > before || end < before && (m.sync || policy == fs.KeepAll) {
		m.t.Fatalf("the log ends at %d after a crash, and ended at %d", end, before)
	}
	if start := l.LogStartOffset(); start > m.start {
		m.t.Fatalf("the log starts at %d after a crash, and started at %d", start, m.start)
	}
	m.forget(l.LogEndOffset())
	m.start = l.LogStartOffset() // a deletion of records lasts from the next checkpoint on
	if !ok {
		m.put(-1, 1) // a log without a file is not there after a restart
	}
}

func (m *txnModel) check(what string) {
	m.t.Helper()
	l := m.log
	if l.LogStartOffset() != m.start || l.LogEndOffset() != m.end() || l.LastStableOffset() != m.stable() {
		m.t.Fatalf("%s: [%d, %d), stable %d; want [%d, %d), %d", what, l.LogStartOffset(), l.LogEndOffset(), l.LastStableOffset(), m.start, m.end(), m.stable())
	}
	from := m.start + m.r.Int64N(m.end()-m.start+1)
	got, err := committedOf(l, from, []int{1, 300, 2000, 1 << 20}[m.r.IntN(4)])
	must(m.t, err)
	if want := m.committed(from); !slices.Equal(got, want) && (len(got) > 0 || len(want) > 0) {
		m.t.Fatalf("%s: committed records from %d on: %v, want %v", what, from, got, want)
	}
	to := from + m.r.Int64N(m.end()-from+1)
	list, err := l.AbortedTransactions(from, to)
	must(m.t, err)
	want := []AbortedTxn{}
	_, aborted := m.transactions()
	for _, a := range aborted {
		if a.last >= from && a.base < to {
			want = append(want, AbortedTxn{a.producer, a.base})
		}
	}
	if !slices.Equal(list, want) {
		m.t.Fatalf("%s: aborted in [%d, %d): %v, want %v", what, from, to, list, want)
	}
}

// TestALogOfTransactionsIsWhatAListSaysWhateverHappensToIt runs random transactions, and what else happens to a log, beside a
// list.
func TestALogOfTransactionsIsWhatAListSaysWhateverHappensToIt(t *testing.T) {
	rounds, steps := 6, 250
	if long() {
		rounds, steps = 60, 1500
	}
	for i := range rounds {
		seed := uint64(i) // the short form takes the same steps each time; the long one looks for what is not known
		if long() {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &txnModel{t: t, b: newBench(t), r: rand.New(rand.NewPCG(seed, 0)), sync: i%2 == 0}
			h := ways[i/2%len(ways)]
			c := small()
			c.Writer = h.writer
			if m.sync {
				c.FlushMessages = 1
			}
			m.log = m.b.create("t", c)
			m.put(-1, 1) // as in crash
			for n := range steps {
				what := m.step()
				m.log.SetConfig(c) // a start does not know it
				m.check(fmt.Sprintf("%s, step %d, %s", h.name, n, what))
			}
		})
	}
}
