package engine

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// maxKnown bounds what is written to knownName while the engine runs, in bytes, beyond twice what it began with: then it begins anew.
const maxKnown = 4 << 20

// openKnown lets entries be written from here on. A file of this run of the machine goes on; else what was believed begins a new one.
// An error is a failed write or flush.
func (e *Engine) openKnown() error {
	k := &e.known
	boot := e.fs.Boot()
	entries := k.entries
	k.entries = nil
	if boot == "" { // nobody could tell whether they may be believed
		return nil
	}
	name := filepath.Join(e.opt.Dir, knownName)
	if !k.goesOn {
		content := appendFrame([]byte(knownMagic), bootFrame, []byte(boot))
		for n, entry := range entries {
			if _, ok := e.logs.m[n]; ok {
				content = appendFrame(content, logFrame, entry)
			}
		}
		if err := e.beginKnown(name, content); err != nil {
			return e.forgetKnown(err)
		}
		k.at = int64(len(content))
	}
	f, err := e.fs.Open(name, os.O_RDWR)
	if err != nil {
		return e.forgetKnown(err)
	}
	k.file, k.kept = f, k.at
	return nil
}

// beginKnown replaces the file. It need not last longer than this run of the machine.
func (e *Engine) beginKnown(name string, content []byte) error {
	f, err := e.fs.Open(name+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if err = f.Write(content, 0, false); err == nil {
		err = f.Datasync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return e.fs.Rename(name+".tmp", name)
}

// forgetKnown gives the file up, and returns the error where that is a failed write or flush. The next start after a kill looks at
// every log; an orderly stop makes a new one.
func (e *Engine) forgetKnown(err error) error {
	k := &e.known
	e.log.Warn("a start after a kill will look at every log: what there is cannot be written down", "dir", e.opt.Dir, "error", err)
	if k.file != nil {
		_ = k.file.Close() // nothing in it is needed
		k.file = nil
	}
	k.fresh.take()
	if final(err) {
		return err
	}
	return nil
}

// remember writes entries of logs that came to rest since they were last looked at. Those that are in use, or whose files changed
// a moment ago, are looked at again by the next call.
func (e *Engine) remember() error {
	k := &e.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		k.fresh.take()
		return nil
	}
	now := time.Now().UnixNano()
	var b []byte
	for l := range k.fresh.take() {
		if l.w.dirty.Load() {
			continue // the checkpoint that takes it next says so again
		}
		if l.w.unknown.Load() || l.corrupt.Load() != nil { // what the file has of it may still be what its files' stamps say
			b = appendFrame(b, logFrame, appendName(nil, l.name))
			continue
		}
		entry, ok := l.entry()
		switch {
		case !ok:
		case now-newest(entry) < fs.StampTick:
			k.fresh.add(l)
		default:
			b = appendFrame(b, logFrame, appendKnown(nil, entry))
		}
	}
	if len(b) == 0 {
		return nil
	}
	if err := k.file.Write(b, k.at, false); err != nil {
		return e.failIfFinal(e.forgetKnown(err))
	}
	if k.at += int64(len(b)); k.at <= 2*k.kept+maxKnown {
		return nil
	}
	return e.failIfFinal(e.beginAgain())
}

// beginAgain begins a new file where the old one is full of old entries: the next checkpoints fill it.
func (e *Engine) beginAgain() error {
	k := &e.known
	name := filepath.Join(e.opt.Dir, knownName)
	content := appendFrame([]byte(knownMagic), bootFrame, []byte(e.fs.Boot()))
	err := e.beginKnown(name, content)
	var f fs.File
	if err == nil {
		f, err = e.fs.Open(name, os.O_RDWR)
	}
	if err != nil {
		return e.forgetKnown(err)
	}
	_ = k.file.Close() // it has no name any more
	k.file, k.at, k.kept = f, int64(len(content)), int64(len(content))
	for _, l := range e.Logs() {
		k.fresh.add(l)
	}
	return nil
}

// newest returns when the youngest of an entry's stamps was made.
func newest(k *knownLog) (at int64) {
	for _, s := range k.stamps {
		at = max(at, s.Changed)
	}
	return at
}

// entry returns what a start need not look for in the log's folder, or ok false where the log is not at rest: something of it is
// only in memory, or a start from the folder has something to tell. The stamp of the folder is taken first: what changes in it after that
// makes the entry void.
func (l *Log) entry() (k *knownLog, ok bool) {
	if l.w.unknown.Load() || l.w.gone.Load() || !l.w.made.Load() || l.corrupt.Load() != nil || !l.w.identified.Load() {
		return nil, false
	}
	folder, ok := l.e.stamp(l.dir)
	if !ok {
		return nil, false
	}
	l.settling.Lock()
	k, ok = l.atRest()
	l.settling.Unlock()
	if !ok {
		return nil, false
	}
	last := k.segments[len(k.segments)-1]
	if k.stamps, ok = l.stampsOf(last.Base); !ok {
		return nil, false
	}
	whole := k.stamps[1].Size == last.Size && k.stamps[2].Size == 8*int64(last.Index.Entries) && k.stamps[3].Size == 12*int64(last.Times.Entries)
	return k, whole && k.stamps[0] == folder
}

// atRest returns the log's state where all of it is in its files, flushed.
func (l *Log) atRest() (k *knownLog, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	segs := *l.view.Load()
	end := l.mu.end
	if l.mu.deleted || l.mu.busy || len(l.mu.pending) > 0 || l.mu.epochsNew || len(segs) == 0 || segs[len(segs)-1] != l.mu.active ||
		l.settled.Load().offset != end || l.flushed.Load().offset != end || l.written.Load().offset != end || !l.namesDurable() {
		return nil, false
	}
	k = &knownLog{name: l.name, id: l.id, end: end, stored: l.stored.Load(), producers: l.mu.producers.Marshal(), epochs: l.mu.epochs.Entries()}
	for _, s := range segs {
		kept, ok := s.Kept()
		if !ok {
			return nil, false
		}
		k.segments = append(k.segments, kept)
	}
	return k, true
}

// rememberAll writes what the next start need not look for, after an orderly stop, and binds it to the mark of that.
func (e *Engine) rememberAll() error {
	content := appendFrame([]byte(knownMagic), bootFrame, []byte(e.fs.Boot()))
	youngest := int64(0)
	for _, l := range e.Logs() {
		if entry, ok := l.entry(); ok {
			content = appendFrame(content, logFrame, appendKnown(nil, entry))
			youngest = max(youngest, newest(entry))
		}
	}
	mark, ok := e.stamp(filepath.Join(e.opt.Dir, checkpoint.CleanShutdownName))
	if !ok {
		return nil
	}
	content = appendFrame(content, markFrame, appendStamp(nil, mark))
	// Who changes a file before the kernel's clock goes on would leave it its stamp.
	if age := time.Now().UnixNano() - max(youngest, mark.Changed); age >= 0 && age < fs.StampTick {
		time.Sleep(time.Duration(fs.StampTick - age))
	}
	err := checkpoint.Replace(e.fs, filepath.Join(e.opt.Dir, knownName), content)
	if err != nil && !final(err) {
		e.log.Warn("the next start will look at every log: what there is cannot be written down", "dir", e.opt.Dir, "error", err)
		return nil
	}
	return err
}

// closeKnown closes the file.
func (e *Engine) closeKnown() (err error) {
	e.known.mu.Lock()
	defer e.known.mu.Unlock()
	f := e.known.file
	if f == nil {
		return nil
	}
	e.known.file = nil
	if e.failed() == nil {
		err = f.Datasync() // of no use, but no write of ours goes unasked for
	}
	return errors.Join(err, f.Close())
}
