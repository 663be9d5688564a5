package logfile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// readRoot reads what the files beside the folder say of the partition. That they are readable is checked where they
// are.
func (p *partition) readRoot() {
	root := filepath.Dir(p.dir)
	p.unknown = true
	read := func(file string, into *int64) (found bool) {
		entries, err := checkpoint.ReadOffsets(fs.OS(), filepath.Join(root, file))
		if err != nil {
			return false
		}
		for _, e := range entries {
			if e.Topic == p.topic && e.Partition == p.part {
				*into = e.Offset
				return true
			}
		}
		return false
	}
	if read(checkpoint.RecoveryPoints, &p.recoveryPoint) {
		p.unknown = false
	} else {
		if _, err := os.Stat(filepath.Join(root, checkpoint.RecoveryPoints)); err == nil {
			p.recoveryPoint = 0 // a log that it does not name was never flushed for certain
		}
	}
	read(checkpoint.HighWatermarks, &p.highWatermark)
	read(checkpoint.LogStarts, &p.logStart)
	p.readRecovery(filepath.Join(root, recoveryName))
	cleaned := int64(-1)
	p.runs = p.Verify.staged(root)[engine.Name{Topic: p.topic, Partition: p.part}]
	kept, _ := engine.KeptRuns(fs.OS(), p.dir) // a start that cannot read them is told by itself
	p.runs = append(p.runs, kept...)
	p.compacted = read(checkpoint.CleanerOffsets, &cleaned)
	p.cleaned = cleaned
	_, p.clean, _ = checkpoint.ReadCleanShutdown(fs.OS(), root)
}

// readRecovery reads what zurau's own checkpoint says. Where it differs from Kafka's, the lower point is the safe one.
func (p *partition) readRecovery(name string) {
	b, err := readFile(name)
	if err != nil {
		return
	}
	items, err := parseRecovery(b)
	if err != nil {
		return
	}
	for _, i := range items {
		if i.Topic != p.topic || i.Partition != p.part || p.unknown {
			continue
		}
		if i.Offset != p.recoveryPoint {
			p.problem(engine.CheckpointsDiffer, name, -1, fmt.Sprintf("%s-%d at offset %d", p.topic, p.part, i.Offset),
				fmt.Sprintf("%d, as in %s", p.recoveryPoint, checkpoint.RecoveryPoints))
			p.recoveryPoint = min(p.recoveryPoint, i.Offset)
			continue // nothing else of it is believed
		}
		p.syncFrom, p.ours = i.SyncFrom, i.Base >= 0
	}
}

// finish holds the checkpoints against the end of the log.
func (p *partition) finish() {
	p.producers.before(p, math.MaxInt64)
	if first := max(p.first, 0); !p.producers.found && min(p.recoveryPoint, p.next) > first {
		p.problem(engine.SnapshotMissing, p.dir, -1, "no producer snapshot", "one, of an offset up to the recovery point at least")
	}
	root := filepath.Dir(p.dir)
	about := fmt.Sprintf("%s-%d", p.topic, p.part)
	end := fmt.Sprintf("at most %d, where the log ends", p.next)
	for _, c := range []struct {
		file   string
		state  engine.State
		offset int64
		torn   bool
	}{
		{checkpoint.RecoveryPoints, engine.EndBelowPoint, p.recoveryPoint, false}, // what was flushed can not have been lost
		{checkpoint.HighWatermarks, engine.HighAhead, p.highWatermark, !p.clean},
		{checkpoint.LogStarts, engine.StartAhead, p.logStart, p.torn(p.next)},
	} {
		if c.offset > p.next {
			p.report(Problem{State: c.state, File: filepath.Join(root, c.file), Position: -1, Found: fmt.Sprintf("%s at offset %d", about, c.offset), Expected: end, Torn: c.torn})
		}
	}
	for _, r := range p.runs {
		if path := p.name(r.Base, ".log"); r.Position == 0 && !slices.Contains(p.bases, r.Base) {
			p.problem(engine.Staged, path, -1, count(r.Size, "byte is", "bytes are")+" staged, and no file", "")
		}
	}
	if p.epochs == nil {
		return
	}
	for _, e := range p.epochs.Entries() {
		if e.StartOffset > p.next {
			p.report(Problem{State: engine.EpochsAhead, File: filepath.Join(p.dir, leaderEpochsName), Position: -1,
				Found: fmt.Sprintf("epoch %d from offset %d", e.Epoch, e.StartOffset), Expected: end, Torn: p.torn(p.next)})
		}
	}
}
