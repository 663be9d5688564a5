package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// tornSuffix ends the name of a side file with the bytes that a recovery took off a log: <base>.log.torn-<position>.
// Kafka and this package pass it over.
const tornSuffix = ".torn-"

// cut ends a segment at a position because what follows is no batch: a write that the crash tore, or a hole that it
// left. What is cut is kept in a side file, unless it is zeros that were laid ahead.
func (r *recovering) cut(s *segment.Segment, f fs.File, at, size int64, state State, why error) error {
	zeros, err := r.keepTorn(s, f, at, size)
	if err != nil {
		return err
	}
	if zeros {
		state = ZeroTail
	} else {
		r.done.Cut += size - at
	}
	r.meet(state, "file", s.Path(), "position", at, "bytes", size-at, "error", why)
	return s.CutTo(at, r.next)
}

// keepTorn copies the bytes from position at on to a side file. It reports whether they are all zeros, and then
// makes none.
func (r *recovering) keepTorn(s *segment.Segment, f fs.File, at, size int64) (zeros bool, err error) {
	buf := make([]byte, min(size-at, 1<<20))
	var side fs.File
	defer func() {
		if side != nil {
			err = errors.Join(err, side.Datasync(), side.Close(), r.e.fs.SyncDir(r.dir))
		}
	}()
	for p := at; p < size; {
		n := min(int64(len(buf)), size-p)
		if err := segment.ReadFull(f, buf[:n], p); err != nil {
			return false, err
		}
		if side == nil && !allZero(buf[:n]) {
			name := fmt.Sprintf("%s%s%d", s.Path(), tornSuffix, at)
			if side, err = r.e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC); err != nil {
				return false, err
			}
			r.changed = true
		}
		if side != nil {
			if err := side.Write(buf[:n], p-at, false); err != nil {
				return false, err
			}
		}
		p += n
	}
	return side == nil, nil
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// setAside takes the segments behind a cut out of the log: their names get an ending that no start finds.
func (r *recovering) setAside(bases []int64) error {
	r.changed = true
	for _, base := range bases {
		r.done.Cut += r.sizes[base]
		if err := r.e.removeIfThere(guard.Name(r.dir, base)); err != nil {
			return err
		}
		for _, kind := range []string{segment.LogSuffix, segment.IndexSuffix, segment.TimeSuffix, segment.TxnSuffix, segment.SnapshotSuffix} {
			name := segment.Name(r.dir, base, kind)
			err := r.e.fs.Rename(name, name+tornSuffix+"0")
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return r.e.fs.SyncDir(r.dir)
}

// removeFolder removes a folder and the files in it.
func (e *Engine) removeFolder(dir string) error {
	entries, err := e.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := e.fs.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := e.fs.Remove(strings.TrimSuffix(dir, "/")); err != nil {
		return err
	}
	return e.fs.SyncDir(e.opt.Dir)
}
