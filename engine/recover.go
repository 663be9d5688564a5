package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
)

// Recovery is what Open found and did.
type Recovery struct {
	Clean    bool          // the stop before was orderly: nothing was scanned
	Logs     int           // opened
	Known    int           // of them those whose folders need not be looked into
	Scanned  int64         // bytes of batches that were checked, all beyond recovery points
	Redone   int64         // bytes of batches that were acknowledged and not in their files when the process was killed
	Cut      int64         // bytes behind the last good batch that were taken off and kept in side files
	Offline  int           // logs that are corrupt
	States   map[State]int // rows of the recovery table that were met, and how often
	Duration time.Duration // of it all
}

// Recovery returns what Open found and did.
func (e *Engine) Recovery() Recovery { return e.recovered }

// recover opens the logs of the directory.
func (e *Engine) recover() error {
	began := time.Now()
	_, clean, err := checkpoint.ReadCleanShutdown(e.fs, e.opt.Dir)
	if err != nil {
		return err
	}
	e.readKnown(clean)
	if clean { // nothing in the stage is wanted, and what comes next makes that durable
		if err := e.removeStage(); err != nil {
			return err
		}
	}
	// Before anything changes: a crash from here on is one.
	if err := checkpoint.RemoveCleanShutdown(e.fs, e.opt.Dir); err != nil {
		return err
	}
	e.recovered.Clean = clean
	if err := e.readCheckpoints(); err != nil {
		return err
	}
	if !clean {
		if err := e.readStage(); err != nil {
			return err
		}
		defer e.closeStagedFile()
	}
	names, deleted, err := e.folders()
	if err != nil {
		return err
	}
	if err := e.openLogs(names, clean); err != nil {
		return err
	}
	if !clean {
		if err := e.removeStage(); err != nil {
			return err
		}
	}
	if err := e.settleRecovered(clean); err != nil {
		return err
	}
	for _, folder := range deleted { // the checkpoints have forgotten them
		if err := e.removeFolder(folder); err != nil {
			return err
		}
	}
	if err := e.openKnown(); err != nil {
		return err
	}
	e.recovered.Logs = len(names)
	e.recovered.Duration = time.Since(began)
	if !clean && len(names) > 0 {
		e.log.Info("recovered after an unclean stop", "dir", e.opt.Dir, "logs", len(names), "known", e.recovered.Known, "scanned", e.recovered.Scanned,
			"redone", e.recovered.Redone, "cut", e.recovered.Cut, "offline", e.recovered.Offline, "took", e.recovered.Duration)
	}
	return nil
}

// settleRecovered makes what was found the starting point of the next recovery. It also takes logs that are not there
// out of the checkpoints: a new one of the same name must not inherit a recovery point.
func (e *Engine) settleRecovered(clean bool) error {
	if !clean {
		if err := e.fs.SyncDir(e.opt.Dir); err != nil { // a killed process may have made folders
			return err
		}
	}
	return e.writeCheckpoints()
}

// readCheckpoints reads where recovery has to start and where logs do. Files that are missing or garbage are as if
// empty: more is scanned, nothing is lost.
func (e *Engine) readCheckpoints() error {
	points, err := e.readOffsets(checkpoint.RecoveryPoints)
	if err != nil {
		return err
	}
	for n, offset := range points {
		e.checkpoints.points[n] = pointAt(offset)
	}
	e.readPoints()
	e.checkpoints.starts, err = e.readOffsets(checkpoint.LogStarts)
	return err
}

func (e *Engine) readOffsets(file string) (map[Name]int64, error) {
	entries, err := checkpoint.ReadOffsets(e.fs, filepath.Join(e.opt.Dir, file))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case errors.Is(err, checkpoint.ErrCorrupt):
		e.meet(CheckpointDamaged, "file", file, "error", err)
	case err != nil:
		return nil, err
	}
	offsets := make(map[Name]int64, len(entries))
	for _, o := range entries {
		offsets[Name{o.Topic, o.Partition}] = o.Offset
	}
	return offsets, nil
}

const deleteSuffix = "-delete"

// folders lists the logs' folders, and those that an interrupted deletion left.
func (e *Engine) folders() (names []Name, deleted []string, err error) {
	entries, err := e.fs.ReadDir(e.opt.Dir)
	if err != nil {
		return nil, nil, err
	}
	var aside []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if strings.HasSuffix(entry.Name(), deleteSuffix) || strings.HasSuffix(entry.Name(), straySuffix) {
			aside = append(aside, entry.Name())
		}
		if strings.HasSuffix(entry.Name(), deleteSuffix) {
			e.meet(DeletedFolderLeft, "folder", entry.Name())
			deleted = append(deleted, filepath.Join(e.opt.Dir, entry.Name()))
			continue
		}
		if n, ok := ParseName(entry.Name()); ok {
			names = append(names, n)
		}
	}
	return names, deleted, e.compareCheckpoints(names, aside)
}

// metadataTopic is the folder of Kafka's own metadata log, which is not ours to touch.
const metadataTopic = "__cluster_metadata"

// ParseName returns the log that a folder of that name holds.
func ParseName(folder string) (Name, bool) {
	i := strings.LastIndexByte(folder, '-')
	if i < 1 {
		return Name{}, false
	}
	p, err := strconv.ParseInt(folder[i+1:], 10, 32)
	n := Name{folder[:i], int32(p)}
	return n, err == nil && checkName(n) == nil && n.String() == folder && n.Topic != metadataTopic
}

// openLogs opens the logs, several at a time.
func (e *Engine) openLogs(names []Name, clean bool) error {
	sort.Slice(names, func(i, j int) bool { return names[i].String() < names[j].String() })
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	var ready atomic.Int64
	defer e.tellProgress(&ready, len(names))()
	next := make(chan Name)
	for range min(e.opt.RecoveryWorkers, len(names)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range next {
				l, done, err := e.openLog(n, clean)
				ready.Add(1)
				mu.Lock()
				if err != nil && first == nil {
					first = fmt.Errorf("open %s: %w", n, err)
				}
				if err == nil {
					e.logs.m[n] = l
					e.recovered.Scanned += done.Scanned
					e.recovered.Cut += done.Cut
					e.recovered.Redone += done.Redone
					e.recovered.Offline += done.Offline
					e.recovered.Known += done.Known
					for s, n := range done.States {
						e.recovered.add(s, n)
					}
				}
				mu.Unlock()
			}
		}()
	}
	for _, n := range names {
		next <- n
	}
	close(next)
	wg.Wait()
	e.compareIDs()
	if first != nil {
		return first
	}
	return e.keepPoints()
}
