package logfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
)

// snapshot is a producer snapshot file.
type snapshot struct {
	path   string
	offset int64 // of the log's end when it was written
	state  *producer.State
}

// loadSnapshot reads a snapshot and checks it by itself.
func (v *Verify) loadSnapshot(path string, offset int64) (snapshot, bool) {
	b, err := readFile(path)
	s := snapshot{path, offset, producer.New()}
	if err == nil {
		err = s.state.Unmarshal(b)
	}
	if err != nil {
		v.problem(engine.SnapshotDamaged, path, 0, err.Error(), "a producer snapshot")
		return s, false
	}
	for at := snapshotHeader; at+snapshotWidth <= len(b); at += snapshotWidth {
		if e := snapshotEntryOf(b[at:]); e.lastOffset >= offset {
			v.problem(engine.SnapshotDisagrees, path, int64(at), fmt.Sprintf("producer %d with last offset %d", e.producerID, e.lastOffset),
				fmt.Sprintf("less than %d, where the log ended", offset))
		}
	}
	return s, true
}

// producers is the producer state as the batches that are there make it.
type producers struct {
	state     producer.State
	snapshots []snapshot // in order, those that the pass has not come to yet
	unsure    bool       // batches were bad: the state is not what the log's was
	found     bool       // a sound snapshot

	// ended are the transactions that were aborted in this segment, by the offset of their marker.
	ended map[int64]producer.Ended
	// index is the segment's transaction index.
	index *entries
}

// before holds the snapshots of offsets up to the next batch against the state.
func (r *producers) before(p *partition, base int64) {
	for len(r.snapshots) > 0 && r.snapshots[0].offset <= base {
		s := r.snapshots[0]
		r.snapshots = r.snapshots[1:]
		if s.offset > p.next && base > p.next && !p.compacted {
			p.report(Problem{State: engine.SnapshotStray, File: s.path, Position: -1, Found: fmt.Sprintf("a snapshot at offset %d", s.offset),
				Expected: fmt.Sprintf("at most %d, where the log ends", p.next), Torn: p.torn(p.next)})
			continue
		}
		if !r.unsure {
			r.compare(p, s)
		}
	}
}

// compare holds a snapshot against the state at its offset. The log may not have everything any more that the snapshot
// knew (retention), nor the snapshot what the log has (producers expire): only producers that both know can disagree.
func (r *producers) compare(p *partition, s snapshot) {
	known := map[int64]producer.Producer{}
	for _, x := range r.state.Producers() {
		known[x.ID] = x
	}
	for _, x := range s.state.Producers() {
		log, ok := known[x.ID]
		if !ok {
			continue
		}
		if x.Epoch != log.Epoch || log.LastSequence >= 0 && x.LastSequence != log.LastSequence {
			p.problem(engine.SnapshotDisagrees, s.path, -1, fmt.Sprintf("producer %d with epoch %d, last sequence %d", x.ID, x.Epoch, x.LastSequence),
				fmt.Sprintf("epoch %d, last sequence %d, as in the log below offset %d", log.Epoch, log.LastSequence, s.offset))
		}
		if log.CurrentTxnStartOffset >= 0 && x.CurrentTxnStartOffset != log.CurrentTxnStartOffset {
			p.problem(engine.SnapshotDisagrees, s.path, -1, fmt.Sprintf("producer %d with a transaction open from offset %d", x.ID, x.CurrentTxnStartOffset),
				fmt.Sprintf("%d, as in the log below offset %d", log.CurrentTxnStartOffset, s.offset))
		}
	}
}

// take takes a good batch into the state.
func (r *producers) take(p *partition, path string, s Span) {
	b := s.Batch
	r.unsure = r.unsure || b.Count() == 0 // records were removed, a producer's last ones perhaps
	if b.ProducerID() < 0 {
		return
	}
	info := record.Info{Size: len(b), LastOffsetDelta: b.LastOffsetDelta(), Count: b.Count(), MaxTimestamp: b.MaxTimestamp(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(),
		Transactional: b.IsTransactional(), Control: b.IsControl(), Codec: b.Codec()}
	if !b.IsControl() {
		r.state.Update(info, b.BaseOffset(), b.LastOffset(), b.MaxTimestamp())
		return
	}
	for rec, err := range b.Records(0) {
		if err != nil {
			p.problem(engine.BadRecords, path, s.Position, err.Error(), "a control record")
			return
		}
		m, ok := producer.ParseMarker(rec.Key, rec.Value)
		if !ok {
			continue
		}
		if t, ok := r.state.EndTransaction(info, m, rec.Offset, b.MaxTimestamp()); ok && t.Aborted {
			r.ended[rec.Offset] = t
		}
	}
}

// openTxnIndex reads the transaction index of a segment. One without aborted transactions has none.
func (r *producers) openTxnIndex(p *partition, base int64) error {
	r.ended = map[int64]producer.Ended{}
	r.index = &entries{p: p, state: engine.TxnIndexDamaged, path: p.name(base, ".txnindex"), width: txnWidth}
	b, err := readFile(r.index.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Summary.Files++
	r.index.bytes = b[:len(b)-len(b)%txnWidth]
	if over := len(b) % txnWidth; over > 0 {
		p.report(Problem{State: engine.TxnIndexDamaged, File: r.index.path, Position: int64(len(b) - over), Found: fmt.Sprintf("%d bytes", over),
			Expected: fmt.Sprintf("entries of %d", txnWidth), Torn: p.torn(p.next)})
	}
	return nil
}

// closeTxnIndex holds the transaction index against the transactions that were aborted in the segment.
func (r *producers) closeTxnIndex(p *partition) {
	x := r.index
	for ; x.at < len(x.bytes); x.at += x.width {
		version, e := index.ParseAbortedTxn(x.bytes[x.at:])
		t, ok := r.ended[e.LastOffset]
		found := fmt.Sprintf("aborted transaction of producer %d, offsets %d to %d", e.ProducerID, e.FirstOffset, e.LastOffset)
		switch {
		case version != 0:
			x.problem(fmt.Sprintf("an entry of version %d", version), "version 0")
		case e.LastOffset >= p.next:
			p.report(Problem{State: x.state, File: x.path, Position: int64(x.at), Found: found, Expected: fmt.Sprintf("offsets below %d, where the log ends", p.next), Torn: p.torn(p.next)})
		case !ok && !p.compacted && e.FirstOffset >= p.first:
			x.problem(found, "the marker of an aborted transaction there")
		case ok && (t.ProducerID != e.ProducerID || t.FirstOffset != e.FirstOffset):
			x.problem(found, fmt.Sprintf("producer %d, first offset %d", t.ProducerID, t.FirstOffset))
		case ok && p.first == 0 && !p.compacted && !r.unsure && t.LastStableOffset != e.LastStableOffset:
			x.problem(fmt.Sprintf("%s, last stable offset %d", found, e.LastStableOffset), fmt.Sprintf("last stable offset %d", t.LastStableOffset))
		}
		delete(r.ended, e.LastOffset)
	}
	if p.compacted {
		return
	}
	for _, at := range sortedKeys(r.ended) {
		t := r.ended[at]
		p.report(Problem{State: x.state, File: x.path, Position: -1, Found: "no entry",
			Expected: fmt.Sprintf("aborted transaction of producer %d, offsets %d to %d", t.ProducerID, t.FirstOffset, t.LastOffset), Torn: p.torn(at)})
	}
}

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func sortedKeys(m map[int64]producer.Ended) (keys []int64) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
