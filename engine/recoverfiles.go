package engine

import (
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// list finds the segments and snapshots, and clears away what work that was cut off has left.
func (r *recovering) list() error {
	names, err := r.folder()
	if err != nil {
		return err
	}
	if swapped, err := r.finishSwaps(names); err != nil {
		return err
	} else if swapped {
		if names, err = r.folder(); err != nil {
			return err
		}
	}
	var torn []string
	for _, name := range names {
		if state := leftover(name); state != "" {
			if err := r.removeLeft(state, name); err != nil {
				return err
			}
			continue
		}
		base, kind, ok := splitName(name)
		switch {
		case !ok:
		case kind == segment.LogSuffix:
			info, err := r.e.fs.Stat(filepath.Join(r.dir, name))
			if err != nil {
				return err
			}
			r.files = append(r.files, base)
			r.sizes[base] = info.Size()
		case kind == segment.SnapshotSuffix:
			r.snaps = append(r.snaps, base)
		case kind == segment.IndexSuffix, kind == segment.TimeSuffix, kind == guard.Suffix:
			r.indexes = append(r.indexes, name)
		case kind == segment.TxnSuffix:
			r.indexes = append(r.indexes, name)
			r.txns = append(r.txns, base)
		case strings.HasPrefix(kind, segment.LogSuffix+redoSuffix):
			r.kept = append(r.kept, name)
		case strings.Contains(kind, tornSuffix), strings.Contains(kind, stagedSuffix):
			torn = append(torn, name)
		}
	}
	sort.Slice(r.files, func(i, j int) bool { return r.files[i] < r.files[j] })
	sort.Slice(r.snaps, func(i, j int) bool { return r.snaps[i] < r.snaps[j] })
	r.torn = len(torn) > 0
	return r.removeOldTorn(torn)
}

// folder lists the files of the log's folder.
func (r *recovering) folder() ([]string, error) {
	entries, err := r.e.fs.ReadDir(r.dir)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// leftover returns the state of a file that is to be removed by its name alone, or "".
func leftover(name string) State {
	switch {
	case isGuard(name):
	case strings.HasSuffix(name, segment.DeletedSuffix):
		return DeletedLeft
	case strings.HasSuffix(name, segment.CopySuffix):
		return CleanedLeft
	}
	return ""
}

func (r *recovering) removeLeft(state State, name string) error {
	r.meet(state, "file", name)
	return r.e.removeIfThere(filepath.Join(r.dir, name))
}

// removeOldTorn removes what earlier starts cut off or had no place for, once retention has passed the place: a log that keeps its records
// for ever keeps these, too, and they cannot outgrow what crashes had in flight.
func (r *recovering) removeOldTorn(torn []string) error {
	for _, name := range torn {
		if base, _, _ := splitName(name); len(r.files) == 0 || base >= r.files[0] {
			continue
		}
		if err := r.removeLeft(TornOld, name); err != nil {
			return err
		}
	}
	return nil
}

// removeOrphans removes indexes and guards without a log file: one of the same base offset, made later, would take them for its own.
func (r *recovering) removeOrphans() error {
	for _, name := range r.indexes {
		base, kind, _ := splitName(name)
		if _, ok := r.sizes[base]; ok {
			continue
		}
		state := IndexOrphan
		if kind == guard.Suffix {
			state = GuardOrphan
		}
		if err := r.removeLeft(state, name); err != nil {
			return err
		}
		r.changed = true
	}
	return nil
}

// splitName takes a file name of a segment apart.
func splitName(name string) (base int64, kind string, ok bool) {
	const digits = 20
	if len(name) <= digits {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	return base, name[digits:], err == nil && base >= 0
}
