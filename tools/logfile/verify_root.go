package logfile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// readRoot reads what the files beside the folder say of the partition. That they are readable is checked where they
// are.
func (p *partition) readRoot() {
	root := filepath.Dir(p.dir)
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
	if !read(checkpoint.RecoveryPoints, &p.recoveryPoint) {
		if _, err := os.Stat(filepath.Join(root, checkpoint.RecoveryPoints)); err == nil {
			p.recoveryPoint = 0 // a log that it does not name was never flushed for certain
		}
	}
	read(checkpoint.HighWatermarks, &p.highWatermark)
	read(checkpoint.LogStarts, &p.logStart)
	p.readRecovery(filepath.Join(root, recoveryName))
	var cleaned int64
	p.compacted = read(checkpoint.CleanerOffsets, &cleaned)
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
		if i.Topic == p.topic && i.Partition == p.part {
			p.recoveryPoint = min(p.recoveryPoint, i.Offset)
			p.syncFrom = i.SyncFrom
		}
	}
}

// finish holds the checkpoints against the end of the log.
func (p *partition) finish() {
	p.producers.before(p, math.MaxInt64)
	root := filepath.Dir(p.dir)
	about := fmt.Sprintf("%s-%d", p.topic, p.part)
	end := fmt.Sprintf("at most %d, where the log ends", p.next)
	for _, c := range []struct {
		file   string
		offset int64
		torn   bool
	}{
		{checkpoint.RecoveryPoints, p.recoveryPoint, false}, // what was flushed can not have been lost
		{checkpoint.HighWatermarks, p.highWatermark, !p.clean},
		{checkpoint.LogStarts, p.logStart, false},
	} {
		if c.offset > p.next {
			p.report(Problem{File: filepath.Join(root, c.file), Position: -1, Found: fmt.Sprintf("%s at offset %d", about, c.offset), Expected: end, Torn: c.torn})
		}
	}
	if p.epochs == nil {
		return
	}
	for _, e := range p.epochs.Entries() {
		if e.StartOffset > p.next {
			p.report(Problem{File: filepath.Join(p.dir, leaderEpochsName), Position: -1,
				Found: fmt.Sprintf("epoch %d from offset %d", e.Epoch, e.StartOffset), Expected: end, Torn: p.torn(p.next)})
		}
	}
}
