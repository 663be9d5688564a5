package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server/partition"
)

// partitionOf returns the partition that is wanted, or nil.
func (b *Broker) partitionOf(w *wanted) *partition.Partition {
	var t *partition.Topic
	if w.topic == "" {
		t = b.Partitions.ByID(w.id)
	} else {
		t = b.Partitions.ByName(w.topic)
	}
	if t == nil {
		return nil
	}
	return t.Partition(w.index)
}

// read reads from one partition: at most left bytes, but with whole its first batch at the least.
func (f *fetchRequest) read(w *wanted, left int64, whole bool) fetched {
	g := fetched{stable: -1, start: -1, high: -1}
	p := f.b.partitionOf(w)
	switch {
	case f.denied != 0:
		g.code, g.early = f.denied, f.limits.isolation > 1
		return g
	case p == nil:
		g.code, g.early = unknownTopic(f.r.Version >= 13), true
		return g
	case p.Log == nil:
		g.code, g.leader = noLog(p), p
		return g
	}
	if g.code = checkEpoch(p, w.epoch); g.code != 0 {
		g.leader = p
		return g
	}
	if f.diverges(w, p, &g) {
		return g
	}
	dir := f.b.setOf(p.Dir)
	noWait := f.patience&dir == 0
	r, err := f.readLog(p.Log, w.offset, int(min(left, int64(w.maxBytes))), whole, noWait)
	old := f.r.Version < 10 // it has to be looked into
	if errors.Is(err, engine.ErrWouldBlock) || err == nil && old && noWait && r.File != nil {
		r.Release()
		f.cold |= dir
		return g
	}
	if err != nil {
		g.code = readCode(err)
		return g
	}
	if old && hasZstd(&r.Range) {
		r.Release()
		g.code = kerr.UnsupportedCompressionType.Code
		return g
	}
	g.r, g.start, g.high, g.stable, g.aborted = r.Range, r.LogStartOffset, r.HighWatermark, r.LastStableOffset, r.Aborted
	return g
}

// readLog reads what the isolation level lets see.
func (f *fetchRequest) readLog(l *engine.Log, offset int64, most int, whole, noWait bool) (c engine.Committed, err error) {
	switch {
	case f.limits.isolation == 1 && noWait:
		return l.ReadCommittedNoWait(offset, most, whole)
	case f.limits.isolation == 1:
		return l.ReadCommitted(offset, most, whole)
	case noWait:
		c.Range, err = l.ReadNoWait(offset, most, whole)
	default:
		c.Range, err = l.Read(offset, most, whole)
	}
	c.LastStableOffset = min(l.LastStableOffset(), c.HighWatermark)
	return c, err
}

// checkEpoch holds a leader epoch that a client believes in against the partition's (KIP-320).
func checkEpoch(p *partition.Partition, epoch int32) int16 {
	switch own := p.LeaderEpoch(); {
	case epoch < 0 || epoch == own:
		return 0
	case epoch < own:
		return kerr.FencedLeaderEpoch.Code
	}
	return kerr.UnknownLeaderEpoch.Code
}

// diverges holds the epoch of the last record that was fetched against the log's history: if another leader's records
// are there now, the answer says from where on.
func (f *fetchRequest) diverges(w *wanted, p *partition.Partition, g *fetched) bool {
	if w.lastEpoch < 0 {
		return false
	}
	epoch, end := p.Log.EndOffsetForEpoch(w.lastEpoch)
	if epoch < 0 || end < 0 {
		g.code = kerr.OffsetOutOfRange.Code
		return true
	}
	if epoch == w.lastEpoch && end >= w.offset {
		return false
	}
	g.diverging, g.divEpoch, g.divOffset = true, epoch, end
	g.high, g.start = p.Log.HighWatermark(), p.Log.LogStartOffset()
	g.stable = min(p.Log.LastStableOffset(), g.high)
	return true
}

func readCode(err error) int16 {
	switch {
	case errors.Is(err, engine.ErrOffsetOutOfRange):
		return kerr.OffsetOutOfRange.Code
	case errors.Is(err, engine.ErrDeleted):
		return kerr.UnknownTopicOrPartition.Code
	}
	return kerr.KafkaStorageError.Code
}

// hasZstd reports whether a batch of the range is compressed with zstd, for clients that are too old for it. It reads the
// headers, a buffer at a time, and may wait for a disk.
func hasZstd(r *engine.Range) bool {
	chunk := make([]byte, min(r.Size, 64<<10))
	var have []byte // of the range, from at on
	for at := int64(0); at+record.HeaderSize <= int64(r.Size); {
		if len(have) < record.HeaderSize {
			have = chunk[:min(int64(len(chunk)), int64(r.Size)-at)]
			if r.Mem != nil {
				copy(have, r.Mem[at:])
			} else if _, err := r.File.ReadAt(have, r.Position+at); err != nil {
				return false // and sending will fail
			}
		}
		batch := record.Batch(have)
		if batch.Codec() == record.Zstd {
			return true
		}
		size := batch.Size()
		if size < record.HeaderSize {
			return false
		}
		at += int64(size)
		have = have[min(size, len(have)):]
	}
	return false
}
