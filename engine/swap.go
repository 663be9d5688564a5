package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// swapSuffix is of a file of Kafka's that is about to take the place of others. Its cleaner writes .cleaned files, flushes
// them, renames them to .swap, the last segment first, then those that they replace to .deleted, then these to their
// names. So with a .cleaned file there, a .swap file from its offset on came too early; else the originals may be gone, and
// the .swap files are all there is.
const swapSuffix = ".swap"

// finishSwaps completes what Kafka's cleaner was at when it was killed, as Kafka does. It reports whether it has changed which
// files there are.
func (r *recovering) finishSwaps(names []string) (swapped bool, err error) {
	var swaps, others []string
	cleaned := int64(math.MaxInt64)
	for _, name := range names {
		base, _, ok := splitName(name)
		switch {
		case !ok:
		case strings.HasSuffix(name, segment.CopySuffix):
			cleaned = min(cleaned, base)
		case strings.HasSuffix(name, swapSuffix):
			swaps = append(swaps, name)
		default:
			others = append(others, name)
		}
	}
	if len(swaps) == 0 {
		return false, nil
	}
	return true, r.swap(swaps, others, cleaned)
}

func (r *recovering) swap(swaps, others []string, cleaned int64) error {
	from, to := int64(math.MaxInt64), int64(-1) // the offsets that are replaced
	var whole []string
	for _, name := range swaps {
		base, kind, _ := splitName(name)
		if base >= cleaned {
			if err := r.removeLeft(CleanedLeft, name); err != nil {
				return err
			}
			continue
		}
		whole = append(whole, name)
		if kind == segment.LogSuffix+swapSuffix {
			end, err := r.endOf(name, base)
			if err != nil {
				return err
			}
			from, to = min(from, base), max(to, end)
		}
	}
	for _, name := range others {
		base, kind, _ := splitName(name)
		if base < from || base >= to || kind == segment.SnapshotSuffix || strings.Contains(kind, tornSuffix) ||
			strings.Contains(kind, stagedSuffix) || strings.Contains(kind, redoSuffix) {
			continue
		}
		if err := r.e.removeIfThere(filepath.Join(r.dir, name)); err != nil {
			return err
		}
	}
	// What is replaced must not come back beside what replaces it.
	if err := r.e.fs.SyncDir(r.dir); err != nil {
		return err
	}
	for _, name := range whole {
		r.meet(SwapLeft, "file", name)
		to := strings.TrimSuffix(name, swapSuffix)
		if err := r.e.fs.Rename(filepath.Join(r.dir, name), filepath.Join(r.dir, to)); err != nil {
			return err
		}
	}
	r.changed = true
	return r.e.fs.SyncDir(r.dir)
}

// endOf returns the offset after the last record of a file that takes others' place. It was flushed before it got its name.
func (r *recovering) endOf(name string, base int64) (end int64, err error) {
	f, err := r.e.fs.Open(filepath.Join(r.dir, name), os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	end = base
	at, err := segment.Batches(f, 0, size, func(_ int64, b record.Batch) error {
		end = max(end, b.LastOffset()+1)
		return nil
	})
	if op := (*os.PathError)(nil); err != nil && !errors.As(err, &op) && !errors.Is(err, segment.ErrShortRead) {
		err = &corruption{SwapDamaged, fmt.Errorf("%s at position %d: %w", filepath.Join(r.dir, name), at, err)}
	}
	return end, err
}
