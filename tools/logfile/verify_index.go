package logfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/zurau/zurau/engine"
)

// indexes holds those of one segment against the pass over its batches.
type indexes struct {
	offsets *offsetIndex
	times   *timeIndex
	p       *partition
}

// entries are those of one index file.
type entries struct {
	p     *partition
	state engine.State // of one that is wrong
	path  string
	bytes []byte
	width int
	at    int // of the next entry that no batch has answered yet

	missing bool // there is no file
	told    bool // that there are no entries where there should be
}

func (e *entries) problem(found, expected string) {
	e.p.problem(e.state, e.path, int64(e.at), found, expected)
}

// openEntries reads an index file; a missing one has no entries, and is built again from the log.
func (p *partition) openEntries(base int64, suffix string, width int, last bool) (*entries, error) {
	e := &entries{p: p, state: engine.IndexDamaged, path: p.name(base, suffix), width: width}
	if suffix == ".timeindex" {
		e.state = engine.TimeIndexDamaged
	}
	b, err := readFile(e.path)
	if errors.Is(err, os.ErrNotExist) {
		e.missing = true
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	p.Summary.Files++
	e.bytes = b
	if whole := withoutZeros(b, width); len(whole) < len(b)-len(b)%width && len(b) > width {
		if !last || p.clean && p.topic != clusterMetadata {
			e.p.problem(e.state, e.path, int64(len(whole)), fmt.Sprintf("%d bytes of zeros to the end", len(b)-len(whole)), "entries only: the segment is not written any more")
		}
		e.bytes = whole
	} else if over := len(b) % width; over > 0 {
		e.at = len(b) - over
		e.problem(fmt.Sprintf("%d bytes", over), fmt.Sprintf("entries of %d", width))
		e.at, e.bytes = 0, b[:len(b)-over]
	}
	return e, nil
}

func (p *partition) openIndexes(base int64, last bool) (*indexes, error) {
	offsets, err := p.openEntries(base, ".index", offsetWidth, last)
	if err != nil {
		return nil, err
	}
	times, err := p.openEntries(base, ".timeindex", timeWidth, last)
	if err != nil {
		return nil, err
	}
	if err := p.producers.openTxnIndex(p, base); err != nil {
		return nil, err
	}
	x := &indexes{&offsetIndex{entries: *offsets, base: base}, &timeIndex{entries: *times, base: base, max: -1}, p}
	x.offsets.rising()
	x.times.rising()
	return x, nil
}

func (x *indexes) batch(s Span) {
	x.offsets.batch(s)
	x.times.batch(s)
	if !x.p.clean && s.Batch.BaseOffset() >= x.p.recoveryPoint {
		return // they may not be in their files yet
	}
	// A topic may have less entries than by default; but a file that is missing, and one index without the other, are wrong.
	indexed := s.Position > defaultInterval && s.Batch.MaxTimestamp() >= 0
	x.offsets.without(x.offsets.missing && s.Position > defaultInterval)
	x.times.without(indexed && len(x.times.bytes) == 0 && (x.offsets.missing || len(x.offsets.bytes) > 0))
}

// defaultInterval is index.interval.bytes by default.
const defaultInterval = 4096

// without tells, once, that there are no entries where there should be.
func (e *entries) without(yes bool) {
	if yes && !e.told {
		e.told = true
		e.p.problem(e.state, e.path, -1, "no entries", "some: the segment has more than an index interval")
	}
}

// skip passes over a bad part of the log: entries of what was there can not be wrong.
func (x *indexes) skip(s Span) {
	x.offsets.skip(s)
	x.times.hole = true
}

func (x *indexes) finish(end int64) {
	x.offsets.finish(end)
	x.times.finish()
	x.p.producers.closeTxnIndex(x.p)
}

// beyond reports the entries that are left when the log has ended.
func (e *entries) beyond(what func([]byte) string, expected string) {
	for ; e.at < len(e.bytes); e.at += e.width {
		e.p.report(Problem{State: e.state, File: e.path, Position: int64(e.at), Found: what(e.bytes[e.at : e.at+e.width]), Expected: expected, Torn: e.p.torn(e.p.next)})
	}
}

// cut drops the entries from at on: behind entries that do not rise, nothing can be said of the rest.
func (e *entries) cut(found, expected string) {
	e.problem(found, expected)
	e.bytes, e.at = e.bytes[:e.at], 0
}

// offsetIndex is checked by the rule that look-ups rely on: an entry names a batch's last offset, and its position is
// where that batch starts. A follower of Kafka before 4.1 writes one entry for several batches that it fetched at once:
// the last offset of the last with the position of the first.
type offsetIndex struct {
	entries
	base    int64
	pending *offsetEntry // its position was right; its offset has to come
	from    int          // of the pending entry
}

func (x *offsetIndex) entry() offsetEntry { return offsetEntryOf(x.bytes[x.at:], x.base) }

// rising checks that both columns do.
func (x *offsetIndex) rising() {
	last := offsetEntry{x.base - 1, -1}
	for ; x.at < len(x.bytes); x.at += x.width {
		e := x.entry()
		if e.offset <= last.offset || e.position <= last.position {
			x.cut(fmt.Sprintf("offset %d, position %d", e.offset, e.position), fmt.Sprintf("more than %d and %d", last.offset, last.position))
			return
		}
		last = e
	}
	x.at = 0
}

func (x *offsetIndex) batch(s Span) {
	for ; x.at < len(x.bytes); x.at += x.width {
		e := x.entry()
		if e.position > s.Position {
			break
		}
		if e.position < s.Position {
			x.problem(fmt.Sprintf("position %d", e.position), fmt.Sprintf("the start of a batch, as at %d", s.Position))
			continue
		}
		if e.offset < s.Batch.BaseOffset() {
			x.problem(fmt.Sprintf("offset %d for position %d", e.offset, e.position), fmt.Sprintf("%d, the last of the batch there", s.Batch.LastOffset()))
			continue
		}
		x.settle(e.offset)
		x.pending, x.from = &e, x.at
	}
	if x.pending != nil && s.Batch.LastOffset() >= x.pending.offset {
		x.settle(s.Batch.LastOffset())
	}
}

func (x *offsetIndex) skip(s Span) {
	x.pending = nil
	for ; x.at < len(x.bytes) && x.entry().position < s.End; x.at += x.width {
		if e := x.entry(); e.position < s.Position {
			x.problem(fmt.Sprintf("position %d", e.position), fmt.Sprintf("the start of a batch, as at %d", s.Position))
		}
	}
}

// settle ends the wait for the batch that the pending entry names: one with a last offset has come.
func (x *offsetIndex) settle(last int64) {
	if x.pending != nil && x.pending.offset != last {
		at := x.at
		x.at = x.from
		x.problem(fmt.Sprintf("offset %d for position %d", x.pending.offset, x.pending.position), "the last offset of a batch from there on")
		x.at = at
	}
	x.pending = nil
}

func (x *offsetIndex) finish(end int64) {
	if x.pending != nil {
		x.settle(-1)
	}
	x.beyond(func(b []byte) string {
		e := offsetEntryOf(b, x.base)
		return fmt.Sprintf("offset %d, position %d", e.offset, e.position)
	}, fmt.Sprintf("a position below %d, where the batches end", end))
}

// timeIndex is checked by the rule that look-ups rely on: no batch before the one with the entry's offset has a larger
// timestamp, and that batch has just the entry's.
type timeIndex struct {
	entries
	base int64
	max  int64 // timestamp of the batches so far
	hole bool  // a part of the log was skipped before the next batch
}

func (x *timeIndex) entry() timeEntry { return timeEntryOf(x.bytes[x.at:], x.base) }

func (x *timeIndex) rising() {
	last := timeEntry{-1, x.base}
	for ; x.at < len(x.bytes); x.at += x.width {
		e := x.entry()
		if e.timestamp <= last.timestamp || e.offset < last.offset {
			x.cut(fmt.Sprintf("timestamp %d, offset %d", e.timestamp, e.offset), fmt.Sprintf("more than %d, and %d or more", last.timestamp, last.offset))
			return
		}
		last = e
	}
	x.at = 0
}

func (x *timeIndex) batch(s Span) {
	b := s.Batch
	for ; x.at < len(x.bytes); x.at += x.width {
		e := x.entry()
		if e.offset > b.LastOffset() {
			break
		}
		found := fmt.Sprintf("timestamp %d for offset %d", e.timestamp, e.offset)
		switch {
		case e.offset < b.BaseOffset() && x.hole:
		case e.offset < b.BaseOffset():
			x.problem(found, fmt.Sprintf("an offset of a batch: the next has %d to %d", b.BaseOffset(), b.LastOffset()))
		case b.MaxTimestamp() != e.timestamp:
			x.problem(found, fmt.Sprintf("%d, the largest of the batch there", b.MaxTimestamp()))
		case x.max > e.timestamp:
			x.problem(found, fmt.Sprintf("%d or more: a batch before it has that", x.max))
		}
	}
	x.max, x.hole = max(x.max, b.MaxTimestamp()), false
}

func (x *timeIndex) finish() {
	x.beyond(func(b []byte) string {
		e := timeEntryOf(b, x.base)
		return fmt.Sprintf("timestamp %d, offset %d", e.timestamp, e.offset)
	}, fmt.Sprintf("an offset below %d, where the log ends", x.p.next))
}
