package engine

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/segment"
)

// redoSuffix ends the name of a side file with what the stage had for a log that is offline: <base>.log.redo-<position>.
// The stage is removed, so the start that can open the log again takes from there what it would have found in the stage:
// an error of a disk for a moment, or damage that somebody repairs, must not cost records that were acknowledged. Kafka passes
// such a file over.
const redoSuffix = ".redo-"

// findKept adds what an earlier start kept to the runs of the stage.
func (r *recovering) findKept() error {
	for _, name := range r.kept {
		base, position, ok := parseRedo(name)
		if !ok {
			continue // not one of ours
		}
		path := filepath.Join(r.dir, name)
		info, err := r.e.fs.Stat(path)
		if err != nil {
			return err
		}
		run := stagedRun{id: r.id, base: base, position: position, size: info.Size(), kept: path}
		var first [8]byte
		if err := r.readRun(run, 0, first[:min(8, run.size)]); err != nil {
			return err
		}
		run.first = int64(binary.BigEndian.Uint64(first[:])) // with which a batch begins
		r.staged = append(r.staged, run)
	}
	sort.SliceStable(r.staged, func(i, j int) bool {
		a, b := r.staged[i], r.staged[j]
		return a.base < b.base || a.base == b.base && a.position < b.position
	})
	return nil
}

// parseRedo takes the name of a side file apart.
func parseRedo(name string) (base, position int64, ok bool) {
	base, kind, ok := splitName(name)
	kind, found := strings.CutPrefix(kind, segment.LogSuffix+redoSuffix)
	position, err := strconv.ParseInt(kind, 10, 64)
	return base, position, ok && found && err == nil && position >= 0
}

// readRun reads what a run has from its byte number from on.
func (r *recovering) readRun(run stagedRun, from int64, b []byte) error {
	if run.kept == "" {
		if err := segment.ReadFull(r.e.staged.file, b, run.at+from); err != nil {
			return fmt.Errorf("read the stage: %w", err)
		}
		return nil
	}
	f, err := r.e.fs.Open(run.kept, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := segment.ReadFull(f, b, from); err != nil {
		return fmt.Errorf("read %s: %w", run.kept, err)
	}
	return nil
}

// dropKept removes what an earlier start kept, once it is durable in the log or has another name.
func (r *recovering) dropKept() error {
	dropped := false
	for _, run := range r.staged {
		if run.kept == "" {
			continue
		}
		if err := r.e.removeIfThere(run.kept); err != nil {
			return err
		}
		dropped = true
	}
	if !dropped {
		return nil
	}
	return r.e.fs.SyncDir(r.dir)
}
