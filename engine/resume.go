package engine

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// known is the file of what a start need not look for, while the engine has the directory.
type known struct {
	mu      sync.Mutex
	entries map[Name][]byte // that may be believed, during a start
	goesOn  bool            // the file is of this run of the machine: it is appended to
	file    fs.File         // nil: no entries are written while the engine runs
	at      int64           // where the next frame goes
	kept    int64           // what the file had when it was made or found
	fresh   logSet          // logs of which it may have no entry, or an old one
}

// readKnown reads the file, and takes over what may be believed in it.
func (e *Engine) readKnown(clean bool) {
	b, err := e.readFile(filepath.Join(e.opt.Dir, knownName))
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			e.log.Warn("every log is looked at: the file that says what there is cannot be read", "dir", e.opt.Dir, "error", err)
		}
		return
	}
	k := &e.known
	entries := map[Name][]byte{}
	var boot, mark string
	k.at = int64(eachFrame(b, func(kind byte, payload []byte) {
		switch kind {
		case bootFrame:
			boot = string(payload)
		case markFrame:
			mark = string(payload)
		case logFrame:
			if n, ok := knownNameOf(payload); ok {
				entries[n] = payload
			}
		}
	}))
	here := e.fs.Boot()
	sameRun := boot == here && here != ""
	if stamp, ok := e.stamp(filepath.Join(e.opt.Dir, checkpoint.CleanShutdownName)); clean && (!ok || mark != string(appendStamp(nil, stamp))) || !clean && !sameRun {
		return
	}
	k.entries, k.goesOn = entries, sameRun
}

// stamp returns the stamp of a file or a folder, or ok false where it cannot be told.
func (e *Engine) stamp(name string) (s fs.Stamp, ok bool) {
	info, err := e.fs.Stat(name)
	if err != nil {
		return s, false
	}
	return fs.StampOf(info)
}

// stampsOf returns the stamps that an entry has of a log whose last segment starts at an offset.
func (l *Log) stampsOf(base int64) (stamps [4]fs.Stamp, ok bool) {
	names := [len(stamps)]string{l.dir, segment.Name(l.dir, base, segment.LogSuffix), segment.Name(l.dir, base, segment.IndexSuffix),
		segment.Name(l.dir, base, segment.TimeSuffix)}
	for i, name := range names {
		if stamps[i], ok = l.e.stamp(name); !ok {
			return stamps, false
		}
	}
	return stamps, true
}

// resume makes the log what its entry says, and reports whether it may: else it is as it was. No file is opened but a transaction
// index.
func (l *Log) resume(p point, named bool) bool {
	entry, ok := l.e.known.entries[l.name]
	if !ok || !named || len(l.e.staged.runs[l.name]) > 0 {
		return false
	}
	k, err := parseKnown(entry)
	if err != nil || k.name != l.name || k.end != p.offset {
		return false
	}
	first, last := k.segments[0].Base, k.segments[len(k.segments)-1].Base
	start := l.e.checkpoints.starts[l.name]
	if start < first || start > k.end {
		return false // there is something to tell, and a start from the folder does
	}
	if stamps, ok := l.stampsOf(last); !ok || stamps != k.stamps || stamps[1].Size != k.segments[len(k.segments)-1].Size {
		return false
	}
	if l.mu.producers.Unmarshal(k.producers) != nil {
		return false
	}
	segs := make([]*segment.Segment, len(k.segments))
	for i := range segs {
		segs[i] = segment.Resume(l.e.fs, l.dir, k.segments[i], l.limits())
	}
	if !l.resumeAborted(k, segs) {
		l.mu.producers.Reset()
		return false
	}
	l.resumeState(k, segs, start)
	l.w.syncFrom.Store(p.syncFrom)
	return true
}

// resumeAborted opens the transaction indexes.
func (l *Log) resumeAborted(k *knownLog, segs []*segment.Segment) bool {
	var aborted []*segment.Segment
	for i, s := range segs {
		if !k.segments[i].Aborted {
			continue
		}
		if s.OpenTxns() != nil {
			return false
		}
		if i+1 < len(segs) {
			if _, err := s.SettleTxns(true); err != nil {
				return false
			}
		}
		aborted = append(aborted, s)
	}
	l.setAborted(aborted)
	return true
}

func (l *Log) resumeState(k *knownLog, segs []*segment.Segment, start int64) {
	last := segs[len(segs)-1]
	l.id = k.id
	l.w.identified.Store(true)
	l.view.Store(&segs)
	l.mu.active, l.mu.created, l.mu.end = last, l.e.opt.Now(), k.end
	if !l.e.recovered.Clean {
		last.Found()
	}
	m := &mark{k.end, last, last.Size()}
	l.high.Store(m)
	l.written.Store(m)
	l.flushed.Store(m)
	l.start.Store(start)
	at := point{offset: k.end, base: last.Base}
	at.maxTimestamp, at.maxOffset = last.MaxTimestamp()
	l.settled.Store(&at)
	l.stored.Store(k.stored)
	for _, epoch := range k.epochs {
		l.mu.epochs.Assign(epoch.Epoch, epoch.StartOffset)
		l.mu.epochAhead = epoch.StartOffset >= k.end
	}
	l.mu.producers.Expire(l.e.opt.Now().UnixMilli(), l.e.opt.ProducerIDExpiration.Milliseconds())
	l.mu.producers.HighWatermark(k.end)
	l.noteUnstable()
}

// settledBy are the states that a start has put right: the next one does not find them again.
func settledBy(s State) bool {
	switch s {
	case ZeroTail, Staged, EpochsAhead, EpochsDamaged, IndexDamaged, TimeIndexDamaged, IndexOrphan, TxnIndexDamaged, SnapshotDamaged, SnapshotMissing,
		SnapshotStray, MetadataMissing, MetadataDamaged, DeletedLeft, CleanedLeft, SwapLeft, TornOld, UnknownLog, PointWithinBatch:
		return true
	}
	return false
}

// keepUnknown sees to it that a log has no entry while the next start from its folder has something to tell.
func (r *recovering) keepUnknown() {
	if r.torn {
		r.w.unknown.Store(true)
	}
	for s := range r.done.States {
		if !settledBy(s) {
			r.w.unknown.Store(true)
		}
	}
	r.e.known.fresh.add(r.Log)
}

// lost says of a segment that was not looked at by the start that its file has lost its end, or is gone. It is not served, and
// the next start looks at the log.
func (l *Log) lost(s *segment.Segment, err error) error {
	if !l.w.unknown.Swap(true) {
		l.e.known.fresh.add(l)
		l.e.tell(SegmentLost, "partition", l.name, "file", s.Path(), "error", err)
	}
	return offline(&corruption{SegmentLost, err})
}
