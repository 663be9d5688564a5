package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// isLog reports whether a folder of that name holds a log.
func isLog(name string) bool {
	_, _, ok := partitionOf(name)
	return ok
}

// remoteIndexes is a folder in which Kafka keeps indexes of what it has moved to other storage. It is its cache.
const remoteIndexes = "remote-log-index-cache"

// folder tells of one that holds no log.
func (v *Verify) folder(path string) {
	if filepath.Base(path) == remoteIndexes {
		return
	}
	state, found := engine.ForeignFolder, "a folder"
	for suffix, s := range map[string]engine.State{"-delete": engine.DeletedFolderLeft, "-stray": engine.StrayFolder, "-future": engine.FutureFolder} {
		if strings.HasSuffix(path, suffix) {
			state, found = s, "a "+suffix+" folder"
		}
	}
	v.problem(state, path, -1, found, "")
}

// ours are files at the root that hold nothing to check.
var ours = map[string]bool{".lock": true, "zurau-metadata.lock": true, "zurau-stage": true, "zurau-logs": true}

// leftAtRoot tells of a file that is not to be checked.
func (v *Verify) leftAtRoot(path string, kind Kind) {
	switch {
	case strings.HasSuffix(path, ".tmp"):
		v.problem(engine.TmpLeft, path, -1, "a .tmp file", "")
	case kind == Unknown && !ours[filepath.Base(path)]:
		v.problem(engine.ForeignFile, path, -1, "a file", "")
	}
}

// checkpoints holds those of a log directory against the folders in it.
func (v *Verify) checkpoints(dir string, entries []os.DirEntry) {
	known := map[string]int64{}
	for _, file := range []string{checkpoint.RecoveryPoints, checkpoint.HighWatermarks, checkpoint.LogStarts} {
		offsets, _ := checkpoint.ReadOffsets(fs.OS(), filepath.Join(dir, file)) // what is garbage was told
		for _, o := range offsets {
			name := fmt.Sprintf("%s-%d", o.Topic, o.Partition)
			known[name] = max(known[name], o.Offset)
		}
	}
	logs := 0
	var aside []string
	for name, runs := range v.staged(dir) {
		delete(known, name.String()) // its folder is made again
		if _, err := os.Stat(filepath.Join(dir, name.String())); errors.Is(err, os.ErrNotExist) {
			v.problem(engine.Staged, filepath.Join(dir, name.String()), -1, count(len(runs), "staged piece", "staged pieces")+" of a log without a folder", "")
		}
	}
	for _, e := range entries {
		switch {
		case e.IsDir() && isLog(e.Name()):
			logs++
			delete(known, e.Name())
		case e.IsDir():
			aside = append(aside, e.Name())
		}
	}
	points := filepath.Join(dir, checkpoint.RecoveryPoints)
	if _, err := os.Stat(points); errors.Is(err, os.ErrNotExist) && logs > 0 {
		v.problem(engine.CheckpointMissing, points, -1, "no file", count(logs, "log's recovery point", "logs' recovery points"))
	}
	for _, name := range sortedNames(known) {
		if known[name] > 0 && !wasPutAside(name, aside) {
			v.problem(engine.FolderMissing, filepath.Join(dir, name), -1, "no folder", fmt.Sprintf("the log, which ended at offset %d or behind it", known[name]))
		}
	}
}

// staged returns what the next start has of the logs of a directory beside their segments.
func (v *Verify) staged(root string) map[engine.Name][]engine.StagedRun {
	if _, clean, _ := checkpoint.ReadCleanShutdown(fs.OS(), root); clean {
		return nil
	}
	runs, _ := engine.StagedRuns(fs.OS(), root) // without it a start has nothing to add, either
	return runs
}

// stagedAt reports whether the next start goes on at a position of a segment with what was staged for it.
func (p *partition) stagedAt(base, position int64) bool {
	return slices.ContainsFunc(p.runs, func(r engine.StagedRun) bool {
		return r.Base == base && r.Position <= position && position < r.Position+r.Size
	})
}

// wasPutAside reports whether one of the folders was that of a log before it was deleted or set aside. Long topics are cut
// in such names.
func wasPutAside(log string, folders []string) bool {
	topic, partition, _ := partitionOf(log)
	for _, f := range folders {
		dot := strings.LastIndexByte(f, '.')
		dash := strings.LastIndexByte(f[:max(dot, 0)], '-')
		if dash > 0 && f[dash+1:dot] == strconv.Itoa(int(partition)) && (f[:dash] == topic || len(f) == 255 && strings.HasPrefix(topic, f[:dash])) {
			return true
		}
	}
	return false
}

// topicIDs tells of partitions with another topic id than most of their topic's.
func (v *Verify) topicIDs(dir string, entries []os.DirEntry) {
	type owned struct {
		folder string
		id     checkpoint.ID
	}
	topics := map[string][]owned{}
	for _, e := range entries {
		topic, _, ok := partitionOf(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		if id, err := checkpoint.ReadTopicID(fs.OS(), filepath.Join(dir, e.Name())); err == nil {
			topics[topic] = append(topics[topic], owned{e.Name(), id})
		}
	}
	for _, topic := range sortedNames(topics) {
		count := map[checkpoint.ID]int{}
		most := topics[topic][0].id
		for _, o := range topics[topic] {
			count[o.id]++
			if count[o.id] > count[most] {
				most = o.id
			}
		}
		for _, o := range topics[topic] {
			if o.id != most {
				v.problem(engine.MetadataForeign, filepath.Join(dir, o.folder, checkpoint.PartitionMetadataName), -1,
					"topic id "+checkpoint.FormatID(o.id), checkpoint.FormatID(most)+", as in the topic's other partitions")
			}
		}
	}
}

// left tells of a file in the folder of a log that is none of the log's, and reports whether it was one.
func (p *partition) left(path string, first int64) bool {
	name := filepath.Base(path)
	kind, base := KindOf(name)
	state := engine.State("")
	switch {
	case isSide(name) && base >= 0 && base < first:
		state = engine.TornOld
	case isSide(name):
		state = engine.TornKept
	case kind == Guard && !isPassing(name):
		return false
	case strings.HasSuffix(name, ".deleted"):
		state = engine.DeletedLeft
	case strings.HasSuffix(name, ".cleaned"):
		state = engine.CleanedLeft
	case strings.HasSuffix(name, ".tmp"):
		state = engine.TmpLeft
	case kind == Unknown:
		state = engine.ForeignFile
	default:
		return false
	}
	p.problem(state, path, -1, "a file", "")
	return true
}
