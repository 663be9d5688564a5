package engine

import (
	"os"

	"github.com/zurau/zurau/engine/segment"
)

// makeFolder makes the log's folder.
func (l *Log) makeFolder() error {
	if err := l.e.fs.MkdirAll(l.dir); err != nil {
		return err
	}
	l.w.made.Store(true)
	l.e.folderNames.made.Add(1)
	l.w.folder.Store(true)
	l.w.named.Add(1)
	return nil
}

// maxUnflushed is how many segments of a log may wait for a flush: the writer that would begin one more flushes them. Each of them has
// a descriptor until then, so without a bound a log of small segments would take all that the process has.
const maxUnflushed = 32

// seal ends the segment before r's: its index entries go to their files, and the producers' state at its end beside
// it. A sync log's bytes are flushed already; an async log's are by the next flush, which closes the descriptor.
func (l *Log) seal(r *run) error {
	segs := *l.view.Load()
	if len(segs) > 0 {
		last := segs[len(segs)-1]
		if err := last.SealIndexes(); err != nil {
			return err
		}
		if err := l.onceFlushing(last.Trim); err != nil {
			return err
		}
		l.dropZeros()
		if len(segs) >= maxUnflushed && l.flushed.Load().seg.Base <= segs[len(segs)-maxUnflushed].Base {
			if err := l.flushTo(&mark{r.seg.Base, last, last.Size()}); err != nil {
				return err
			}
		}
	}
	if !l.w.made.Load() {
		if err := l.makeFolder(); err != nil {
			return err
		}
	}
	name := segment.Name(l.dir, r.seg.Base, segment.SnapshotSuffix)
	if err := l.writeFile(name, r.snapshot); err != nil {
		return err
	}
	if err := l.writeEpochs(); err != nil || len(segs) != 1 {
		return err
	}
	return l.syncNames() // else a power cut could leave the second segment without the first, and the log would start with it
}

// writeFile replaces a small file of the folder. A crash may leave it short or stale: its reader checks it.
func (l *Log) writeFile(name string, b []byte) error {
	l.w.files.Lock()
	defer l.w.files.Unlock()
	f, err := l.e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	err = f.Write(b, 0, false)
	if err == nil {
		err = f.Datasync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	l.w.named.Add(1)
	return err
}
