package engine

import (
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/segment"
)

// list finds the segments and snapshots, and removes what a deletion or a truncation left.
func (r *recovering) list() error {
	entries, err := r.e.fs.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, segment.DeletedSuffix) || strings.HasSuffix(name, copySuffix) {
			if err := r.e.removeIfThere(filepath.Join(r.dir, name)); err != nil {
				return err
			}
			continue
		}
		base, kind, ok := splitName(name)
		switch {
		case ok && kind == segment.LogSuffix:
			info, err := r.e.fs.Stat(filepath.Join(r.dir, name))
			if err != nil {
				return err
			}
			r.files = append(r.files, base)
			r.sizes[base] = info.Size()
		case ok && kind == segment.SnapshotSuffix:
			r.snaps = append(r.snaps, base)
		case ok && kind == segment.TxnSuffix:
			r.txns = append(r.txns, base)
		}
	}
	sort.Slice(r.files, func(i, j int) bool { return r.files[i] < r.files[j] })
	sort.Slice(r.snaps, func(i, j int) bool { return r.snaps[i] < r.snaps[j] })
	return nil
}

// removeOrphans removes indexes without a log file: one of the same base offset, made later, would take them for its own.
func (r *recovering) removeOrphans() error {
	entries, err := r.e.fs.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		base, kind, ok := splitName(entry.Name())
		if !ok || kind != segment.IndexSuffix && kind != segment.TimeSuffix && kind != segment.TxnSuffix {
			continue
		}
		if _, ok := r.sizes[base]; ok {
			continue
		}
		if err := r.e.removeIfThere(filepath.Join(r.dir, entry.Name())); err != nil {
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
