package engine

import (
	"fmt"
	"slices"
)

// A modelLog is one log as a list of batches: everything that the engine says of the log can be read off it.
type modelLog struct {
	name Name
	log  *Log
	cfg  Config

	epochs     map[int64]int16 // the newest of each producer
	list       []modelBatch    // from the first segment on, so it may begin below start
	old        []modelBatch    // what retention took and producers' states still need
	start, end int64
	epoch      int32 // of the leader that appends
	epochsFrom int64 // below it leader epochs may have been forgotten
	lost       int64 // below it a power cut may have taken records that were deleted already

	forgot    map[int64]int64 // producers that were idle too long, and where the log ended then
	firm      int64           // no crash takes records below it
	firmStart int64           // nor moves the log start below it
	producers map[int64]*modelProducer
}

// A modelBatch is a batch of a producer, of none, or a marker.
type modelBatch struct {
	base, last    int64
	bytes         []byte  // as they are stored
	times         []int64 // of the records
	leaderEpoch   int32
	producer      int64 // -1: none
	epoch         int16
	first, lastly int32 // sequences
	txn, marker   bool
	commit        bool
	guessed       bool // where it was is not known any more
}

func (b *modelBatch) time() int64 { return slices.Max(b.times) }

// A modelProducer is what the log has to know of a producer.
type modelProducer struct {
	epoch  int16
	recent []modelRecent // of the epoch, five at most, the newest last
	open   int64         // where its transaction began, or -1
	time   int64         // of the last batch or marker
}

// modelRecent is a batch that may be sent again. maybe says that a restart may have forgotten it.
type modelRecent struct {
	base, last    int64
	first, lastly int32
	time          int64
	guessed       bool
	maybe         bool
}

// sure reports whether the log must know the producer's last batch.
func (p *modelProducer) sure() bool { return len(p.recent) > 0 && !p.newest().maybe }

func (p *modelProducer) newest() modelRecent { return p.recent[len(p.recent)-1] }

// next returns the epoch and the sequence that a producer's next batch may have. Of a log that has forgotten the producer, or
// may have forgotten its last batch and know a marker behind it, only a new epoch is taken for certain.
func (l *modelLog) next(id int64, txn bool) (epoch int16, sequence int32) {
	p := l.producers[id]
	switch {
	case p == nil:
		return l.epochs[id] + 1, 0
	case len(p.recent) == 0 || txn && !p.sure() && p.open < 0:
		return p.epoch + 1, 0
	}
	return p.epoch, p.newest().lastly + 1
}

// take notes a batch.
func (p *modelProducer) take(b *modelBatch) {
	p.time = b.time()
	if b.marker {
		p.open = -1
		return
	}
	if p.epoch != b.epoch {
		p.epoch, p.recent = b.epoch, nil
	}
	p.recent = append(p.recent, modelRecent{b.base, b.last, b.first, b.lastly, b.time(), b.guessed, false})
	p.recent = p.recent[max(0, len(p.recent)-5):]
	if b.txn && p.open < 0 {
		p.open = b.base
	}
}

// put notes a batch that was appended.
func (l *modelLog) put(b modelBatch) {
	l.list = append(l.list, b)
	l.end = b.last + 1
	l.note(&b)
}

func (l *modelLog) note(b *modelBatch) {
	if b.producer < 0 {
		return
	}
	p := l.producers[b.producer]
	if p == nil {
		p = &modelProducer{epoch: b.epoch, open: -1}
		l.producers[b.producer] = p
	}
	p.take(b)
	l.epochs[b.producer] = max(l.epochs[b.producer], b.epoch)
}

// rebuild makes the producers' states from the batches that are left, as a start or a truncation does: snapshots may help it,
// and have the last batch alone.
func (l *modelLog) rebuild(now int64) {
	l.producers = map[int64]*modelProducer{}
	for i := range l.old {
		l.note(&l.old[i])
	}
	from := map[int64]bool{} // producers of the list
	for i := range l.list {
		l.note(&l.list[i])
		from[l.list[i].producer] = from[l.list[i].producer] || !l.list[i].marker
	}
	for id, p := range l.producers {
		for i := range p.recent {
			r := &p.recent[i]
			r.maybe = i+1 < len(p.recent) || !from[id] || r.base < l.forgot[id] || now-r.time >= modelExpiration
		}
	}
}

// settle takes over what a start or a truncation has made of transactions that began in records which are gone: it may know
// them from a snapshot, have them begin with their first record that is left, or, without one, not know them.
func (l *modelLog) settle() {
	open := map[int64]int64{}
	for _, g := range l.log.Producers() {
		open[g.ID] = g.CurrentTxnStartOffset
	}
	for id, p := range l.producers {
		if p.open < 0 || len(l.list) > 0 && p.open >= l.list[0].base {
			continue
		}
		left := int64(-1)
		for i := range l.list {
			if l.list[i].producer == id {
				left = l.list[i].base
				break
			}
		}
		if g, ok := open[id]; ok && g == left || !ok && left < 0 {
			p.open = left
			l.old = slices.DeleteFunc(l.old, func(b modelBatch) bool { return b.producer == id })
		}
	}
}

// stable returns the last stable offset.
func (l *modelLog) stable() int64 {
	at := l.end
	for _, p := range l.producers {
		if p.open >= 0 {
			at = min(at, max(p.open, l.start))
		}
	}
	return at
}

// aborted lists the transactions that were aborted, in the order of their markers, with the offsets of first record and marker.
func (l *modelLog) aborted() (all []modelBatch) {
	open := map[int64]int64{}
	for _, b := range slices.Concat(l.old, l.list) {
		first, is := open[b.producer]
		switch {
		case b.marker && is && !b.commit:
			all = append(all, modelBatch{base: first, last: b.last, producer: b.producer})
			delete(open, b.producer)
		case b.marker:
			delete(open, b.producer)
		case b.txn && !is:
			open[b.producer] = b.base
		}
	}
	return all
}

// at returns the index of the batch that holds an offset, or of the first one behind it.
func (l *modelLog) at(offset int64) int {
	i, _ := slices.BinarySearchFunc(l.list, offset, func(b modelBatch, o int64) int {
		if b.last < o {
			return -1
		}
		return 1
	})
	return i
}

// truncate takes off what does not lie below an offset as a whole.
func (l *modelLog) truncate(offset, now int64) {
	if offset >= l.end {
		return
	}
	l.end = offset
	if i := l.at(offset); i < len(l.list) {
		if l.list[i].base < offset {
			l.end = l.list[i].base
		}
		l.list = l.list[:i]
	}
	l.old = slices.DeleteFunc(l.old, func(b modelBatch) bool { return b.last >= offset })
	l.start, l.firm = min(l.start, l.end), min(l.firm, l.end)
	l.firmStart, l.epochsFrom = min(l.firmStart, l.end), min(l.epochsFrom, l.end)
	l.rebuild(now)
}

// bases returns where the log's segments begin, once everything is in its file.
func (l *modelLog) bases() (all []int64) {
	l.log.drain()
	for _, s := range *l.log.view.Load() {
		all = append(all, s.Base)
	}
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	if active := l.log.mu.active.Base; len(all) == 0 || all[len(all)-1] < active {
		all = append(all, active)
	}
	return all
}

// trim drops the batches of segments that are gone, but for those that say what the producers are at.
func (l *modelLog) trim() {
	l.trimTo(l.bases()[0])
}

func (l *modelLog) trimTo(first int64) {
	n := 0
	for n < len(l.list) && l.list[n].last < first {
		n++
	}
	if n == 0 {
		return
	}
	kept := map[int64][]modelBatch{}
	for _, b := range slices.Concat(l.old, l.list[:n]) {
		if b.producer >= 0 {
			b.bytes = nil
			kept[b.producer] = shortened(kept[b.producer], b)
		}
	}
	l.old, l.list = nil, slices.Clone(l.list[n:])
	for _, k := range kept {
		l.old = append(l.old, k...)
	}
	slices.SortFunc(l.old, func(a, b modelBatch) int { return int(a.base - b.base) })
}

// shortened returns what is needed of a producer's batches when one more follows: the last one, the marker behind it, and the
// first one of an open transaction.
func shortened(k []modelBatch, b modelBatch) []modelBatch {
	n := len(k)
	switch {
	case n == 0:
		return []modelBatch{b}
	case b.marker && k[n-1].marker:
		return append(k[:n-1:n-1], b)
	case b.marker:
		return []modelBatch{k[n-1], b}
	case k[0].txn && !k[n-1].marker:
		return []modelBatch{k[0], b}
	}
	return []modelBatch{b}
}

// modelSegment is a segment as the list has it.
type modelSegment struct {
	base, end, bytes int64
	newest           int64 // time
}

func (l *modelLog) segments() (all []modelSegment) {
	bases := l.bases()
	for i, base := range bases {
		s := modelSegment{base: base, end: l.end, newest: -1}
		if i+1 < len(bases) {
			s.end = bases[i+1]
		}
		for j := l.at(base); j < len(l.list) && l.list[j].base < s.end; j++ {
			s.bytes += int64(len(l.list[j].bytes))
			s.newest = max(s.newest, l.list[j].time())
		}
		all = append(all, s)
	}
	return all
}

// retained returns where the log must start after retention, everything being written.
func (l *modelLog) retained(now int64) int64 {
	all := l.segments()
	size := int64(0)
	for _, s := range all {
		size += s.bytes
	}
	for i, s := range all {
		old := !l.cfg.KeepAll && l.cfg.RetentionAge >= 0 && now-s.newest > l.cfg.RetentionAge.Milliseconds()
		much := !l.cfg.KeepAll && l.cfg.RetentionBytes > 0 && size-s.bytes >= l.cfg.RetentionBytes
		last := i+1 == len(all)
		if last && s.bytes == 0 || last && !old && s.end > l.start || !old && !much && s.end > l.start {
			return max(l.start, s.base)
		}
		size -= s.bytes
	}
	return max(l.start, l.end)
}

// checkSegments holds the segments of a log that is at rest against the list.
func (l *modelLog) checkSegments() error {
	all := l.segments()
	var size int64
	for i, s := range all {
		size += s.bytes
		if at := l.at(s.base); s.base >= l.lost && at < len(l.list) && l.list[at].base != s.base || i > 0 && s.base <= all[i-1].base {
			return fmt.Errorf("a segment begins at offset %d", s.base)
		}
		if most := int64(modelSegmentBytes[len(modelSegmentBytes)-1]); s.bytes > most {
			return fmt.Errorf("the segment at offset %d has %d bytes, the limit was never above %d", s.base, s.bytes, most)
		}
		if i+1 < len(all) && s.bytes == 0 && s.end > l.lost {
			return fmt.Errorf("the segment at offset %d is empty", s.base)
		}
	}
	if got := l.log.Size(); got != size && all[0].base >= l.lost {
		return fmt.Errorf("%d bytes, want %d", got, size)
	}
	return nil
}
