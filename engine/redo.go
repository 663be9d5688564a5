package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// A stagedRun is what a killed process left in one slot of the stage: records that were acknowledged, and that may or may not
// be in their segment.
type stagedRun struct {
	id       [16]byte // of the topic
	base     int64    // offset of the segment
	first    int64    // of the first record
	position int64    // of the first byte in the segment's file
	at, size int64    // where the records are in the stage's file
	kept     string   // or the side file that has them
}

// readStage reads the headers of the slots that a process of this run of the machine left. What another one left is what a
// power cut made of it.
func (e *Engine) readStage() error {
	name := filepath.Join(e.opt.Dir, stageName)
	f, err := e.fs.Open(name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	e.staged.file = f
	boot := e.fs.Boot()
	if e.staged.runs, err = readSlots(f, boot); err != nil {
		return err
	}
	if n := len(e.staged.runs); boot == "" && n > 0 {
		return fmt.Errorf("%s has acknowledged records of %d logs, and the kernel does not say whether they are of this run of the "+
			"machine (random/boot_id): where it was started anew since, remove the file", name, n)
	}
	return e.makeStaged()
}

// readSlots reads the headers of the slots that a process of the given run of the machine left, or of any where that is "".
func readSlots(f fs.File, boot string) (map[Name][]stagedRun, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	found := map[Name][]stagedRun{}
	h := make([]byte, slotHeader)
	for block := int64(0); block < size; block += stageBlock {
		for at, step := block, int64(stageBlock); at < min(block+stageBlock, size); at += step {
			clear(h)
			if err := segment.ReadFull(f, h[:min(slotHeader, size-at)], at); err != nil {
				return nil, fmt.Errorf("read %s: %w", f.Name(), err)
			}
			if at == block {
				step = slotStep(h)
			}
			s, ok := parseSlot(h)
			if !ok || s.step != step {
				continue
			}
			if (s.boot == boot || boot == "") && s.run.size > 0 && s.run.size <= step-slotHeader-s.run.at {
				s.run.at += at + slotHeader
				found[s.name] = append(found[s.name], s.run)
			}
		}
	}
	for _, runs := range found {
		sort.Slice(runs, func(i, j int) bool { return runs[i].first < runs[j].first })
	}
	return found, nil
}

func (e *Engine) closeStagedFile() {
	if e.staged.file != nil {
		_ = e.staged.file.Close() // it was read
	}
	e.staged.file, e.staged.runs = nil, nil
}

// A slotLabel is a slot's header, read.
type slotLabel struct {
	name Name
	boot string
	step int64 // to the next slot
	run  stagedRun
}

// slotStep returns how far the slots of a block are apart whose first header is h: that may be half written.
func slotStep(h []byte) int64 {
	if class := binary.NativeEndian.Uint32(h[16:]); binary.NativeEndian.Uint64(h) == slotMagic && class < classes {
		return minRun << (2 * class)
	}
	return stageBlock // nothing was in the block yet
}

// parseSlot reads a header. It believes nothing in it that could not be.
func parseSlot(h []byte) (s slotLabel, ok bool) {
	o := binary.NativeEndian
	class, head := o.Uint32(h[16:]), o.Uint32(h[20:])
	topic, boot := int(o.Uint16(h[52:])), int(o.Uint16(h[54:]))
	if o.Uint64(h) != slotMagic || class >= classes || head >= fs.BlockSize || slotNames+boot+topic > len(h) {
		return s, false
	}
	s.step = minRun << (2 * class)
	s.boot = string(h[slotNames:][:boot])
	s.name = Name{string(h[slotNames+boot:][:topic]), int32(o.Uint32(h[48:]))}
	s.run = stagedRun{
		id:   [16]byte(h[56:72]),
		base: int64(o.Uint64(h[32:])), first: int64(o.Uint64(h[40:])), position: int64(o.Uint64(h[24:])),
		at: int64(head), size: int64(o.Uint64(h[slotUsed:])),
	}
	return s, checkName(s.name) == nil && s.run.base >= 0 && s.run.first >= s.run.base && s.run.position >= 0 && s.run.size >= 0
}

// makeStaged makes the folders and files that staged runs are for and that a killed process had not come to make.
func (e *Engine) makeStaged() error {
	for n, runs := range e.staged.runs {
		for i := range runs {
			if err := e.makeStagedFile(n, runs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Engine) makeStagedFile(n Name, run stagedRun) error {
	if run.position > 0 {
		return nil
	}
	name := segment.Name(e.path(n), run.base, segment.LogSuffix)
	if _, err := e.fs.Stat(name); err == nil {
		return nil // what may be wrong with it the recovery of the log finds out
	}
	// Where nobody can say whether it is there it is made all the same, which does nothing to one that is: without it the records have no
	// place, and the stage goes when the start is over.
	if err := e.fs.MkdirAll(e.path(n)); err != nil {
		return err
	}
	f, err := e.fs.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// removeStage takes the stage away once everything in it is durable in the segments, or in side files: a later recovery must
// not find it, even if no engine has a stage until then.
func (e *Engine) removeStage() error {
	return e.removeIfThere(filepath.Join(e.opt.Dir, stageName))
}

// sealed reports whether the segment before the one number i was ended as a writer does it, before it makes that one's file. A
// file that is empty may have been made by a recovery, for staged records.
func (r *recovering) sealed(i int) bool { return r.sizes[r.files[i]] > 0 }

// covers reports whether a staged run goes on where a segment's good batches end: what lies there was being written.
func (r *recovering) covers(s *segment.Segment, end int64) bool {
	for _, run := range r.staged {
		if run.base == s.Base && run.position <= end && end < run.position+run.size {
			return true
		}
	}
	return false
}

// redo appends to a segment, which ends at a position, what the staged runs have beyond it.
func (r *recovering) redo(s *segment.Segment, end int64) (int64, error) {
	for _, run := range r.staged {
		if run.base != s.Base || run.position > end || run.position+run.size <= end {
			continue
		}
		b := make([]byte, run.position+run.size-end)
		if err := r.readRun(run, end-run.position, b); err != nil {
			return end, err
		}
		good := r.noteStaged(s, end, b)
		if good > 0 {
			r.meet(Staged, "file", s.Path(), "position", end, "bytes", good)
		}
		if good == 0 {
			continue
		}
		f, err := s.Writer(0)
		if err != nil {
			return end, err
		}
		if err := f.Write(b[:good], end, false); err != nil {
			return end, err
		}
		if r.point.syncFrom >= 0 { // and no more than flightBytes may be in flight
			if err := f.Datasync(); err != nil {
				return end, err
			}
		}
		end += int64(good)
		r.done.Redone += int64(good)
	}
	return end, nil
}

// noteStaged accounts for the whole batches at the start of b that go on where the log ends, at a position of the segment, and
// returns their bytes.
func (r *recovering) noteStaged(s *segment.Segment, at int64, b []byte) (good int) {
	interval := r.config.Load().IndexInterval
	for rest := b; ; {
		var batch record.Batch
		var err error
		if batch, rest, err = record.Next(rest); err != nil || len(batch) == 0 {
			return good
		}
		if batch.BaseOffset() != r.next || batch.LastOffset() < r.next || batch.Check() != nil {
			return good
		}
		s.Note(batch.Size(), batch.LastOffset(), batch.MaxTimestamp(), interval)
		r.mu.tally.Note(s.Base, at+int64(good), batch, batch.Size())
		r.marked = r.marked || batch.IsControl()
		r.next = batch.LastOffset() + 1
		good += batch.Size()
	}
}

// stagedFor returns what the stage has for the log that is being opened: of the same topic, where both say which.
func (r *recovering) stagedFor() []stagedRun {
	var own []stagedRun
	for _, run := range r.e.staged.runs[r.name] {
		if none := [16]byte{}; run.id == r.id || run.id == none || r.id == none {
			own = append(own, run)
		}
	}
	return own
}

// unplaced returns the staged runs that are not where they belong, now that the log is open: something before them was cut. What
// was written anew since may be longer than it was, and have their place and not them.
func (r *recovering) unplaced() (left []stagedRun) {
	segs := *r.view.Load()
	for _, run := range r.staged {
		placed := func(s *segment.Segment) bool { return s.Base == run.base && s.Size() >= run.position+run.size }
		if run.first >= r.next || !slices.ContainsFunc(segs, placed) {
			left = append(left, run)
		}
	}
	return left
}

// keepStaged copies what the stage has and the log cannot take to side files, since the stage is removed:
// <base>.log.staged-<position>, or .redo- for the next start.
func (r *recovering) keepStaged(runs []stagedRun, suffix string) (err error) {
	for _, run := range runs {
		name := fmt.Sprintf("%s%s%d", segment.Name(r.dir, run.base, segment.LogSuffix), suffix, run.position)
		b := make([]byte, run.size)
		if err := r.readRun(run, 0, b); err != nil {
			return err
		}
		f, err := r.e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return err
		}
		if err = f.Write(b, 0, false); err == nil {
			err = f.Datasync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		r.e.log.Warn("kept what was acknowledged and is not in the log", "partition", r.name, "file", name, "bytes", run.size)
	}
	if len(runs) > 0 {
		return r.e.fs.SyncDir(r.dir)
	}
	return nil
}

// stagedSuffix ends the name of a side file with records that only the stage had. Kafka and this package pass it over.
const stagedSuffix = ".staged-"
