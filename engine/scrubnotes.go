package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// scrubName is the file at the root in which the scrub notes how far it is, and what it found: a start does not read what is below the
// recovery point, and would serve it again. Kafka passes the file over; without it the next pass begins anew.
//
//	0                                        version
//	7a1b2c3d                                 CRC-32C of all that follows, 8 hex digits
//	began 1700000000000                      the pass that runs, or ran last, in ms; 0: none
//	ended 1700000000000                      the last whole pass; 0: none
//	next orders 3 4096                       where the pass goes on: topic, partition, base offset; missing: it is whole
//	found orders 1 0 8192 rotten-batch       topic, partition, base offset, position, row of the table
const scrubName = "zurau-scrub"

// A scrubPlace is the segments of a log from a base offset on. The zero value is the first log.
type scrubPlace struct {
	name Name
	base int64
}

type scrubNotes struct {
	began, ended int64 // ms
	next         scrubPlace
	found        []finding
}

var errScrubNotes = errors.New("not the notes of a scrub")

// marshal returns the file's content.
func (n scrubNotes) marshal() []byte {
	body := fmt.Appendf(nil, "began %d\nended %d\n", n.began, n.ended)
	if n.next != (scrubPlace{}) {
		body = fmt.Appendf(body, "next %s %d %d\n", n.next.name.Topic, n.next.name.Partition, n.next.base)
	}
	for _, x := range n.found {
		body = fmt.Appendf(body, "found %s %d %d %d %s\n", x.name.Topic, x.name.Partition, x.base, x.position, x.state)
	}
	return append(fmt.Appendf(nil, "0\n%08x\n", crc32.Checksum(body, castagnoli)), body...)
}

// parseScrubNotes reads the file's content.
func parseScrubNotes(b []byte) (n scrubNotes, err error) {
	version, rest, _ := bytes.Cut(b, []byte("\n"))
	sum, body, _ := bytes.Cut(rest, []byte("\n"))
	if string(version) != "0" || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return n, errScrubNotes
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(body), "\n"), "\n") {
		w := strings.Fields(line)
		wrong := false
		number := func(i int) (v int64) {
			v, err := strconv.ParseInt(w[i], 10, 64)
			wrong = wrong || err != nil || v < 0
			return v
		}
		name := func() Name {
			p, err := strconv.ParseInt(w[2], 10, 32)
			n := Name{w[1], int32(p)}
			wrong = wrong || err != nil || checkName(n) != nil
			return n
		}
		switch {
		case len(w) == 2 && w[0] == "began":
			n.began = number(1)
		case len(w) == 2 && w[0] == "ended":
			n.ended = number(1)
		case len(w) == 4 && w[0] == "next":
			n.next = scrubPlace{name(), number(3)}
		case len(w) == 6 && w[0] == "found":
			n.found = append(n.found, finding{name: name(), base: number(3), position: number(4), state: State(w[5])})
			wrong = wrong || State(w[5]).Row() == Row{}
		default:
			wrong = true
		}
		if wrong {
			return scrubNotes{}, errScrubNotes
		}
	}
	return n, nil
}

// saveScrub writes the notes, unless the engine is closed: Close does it then.
func (e *Engine) saveScrub() {
	if e.enter() == nil {
		e.writeScrub()
		e.life.RUnlock()
	}
}

// writeScrub writes the notes where they have changed. They are of use, and no more: an error is told, and only a failed flush is final.
func (e *Engine) writeScrub() {
	e.scrub.file.Lock()
	defer e.scrub.file.Unlock()
	e.scrub.mu.Lock()
	b := e.scrub.mu.notes.marshal()
	e.scrub.mu.Unlock()
	if e.failed() != nil || bytes.Equal(b, e.scrub.file.notes) {
		return
	}
	if err := e.failIfFinal(checkpoint.Replace(e.fs, filepath.Join(e.opt.Dir, scrubName), b)); err != nil {
		e.log.Warn("write the notes of the scrub", "dir", e.opt.Dir, "error", err)
		return
	}
	e.scrub.file.notes = b
}

// noteFinding remembers a finding.
func (e *Engine) noteFinding(x finding) {
	e.scrub.mu.Lock()
	e.scrub.mu.notes.found = append(e.scrub.mu.notes.found, x)
	e.scrub.mu.Unlock()
	e.saveScrub()
}

// readScrub reads the notes at a start, and looks at what was found: what is still there takes its log offline again, and what was
// repaired, or is gone, is forgotten.
func (e *Engine) readScrub() {
	e.scrub.file.notes = scrubNotes{}.marshal() // as good as none
	b, err := e.readFile(filepath.Join(e.opt.Dir, scrubName))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var n scrubNotes
	if err == nil {
		n, err = parseScrubNotes(b)
	}
	if err != nil {
		e.meet(CheckpointDamaged, "file", scrubName, "error", err)
		return
	}
	e.scrub.file.notes = b
	n.found = slices.DeleteFunc(n.found, func(x finding) bool { return !e.foundAgain(&x) })
	e.scrub.mu.notes = n
}

// foundAgain looks at the place of a finding of an earlier process.
func (e *Engine) foundAgain(x *finding) bool {
	l, ok := e.Log(x.name)
	if !ok {
		return false
	}
	if l.corrupt.Load() != nil {
		return true // as it is
	}
	segs := *l.view.Load()
	i, ok := slices.BinarySearchFunc(segs, x.base, compareBase)
	if !ok {
		return false
	}
	bad := e.wrongStill(l, segs[i], x)
	if bad == nil {
		return false
	}
	err := error(&corruption{x.state, bad})
	l.corrupt.Store(&err)
	e.recovered.Offline++
	e.meet(x.state, "partition", l.name, "error", err)
	return true
}

// wrongStill returns what is wrong at the place of a finding of an earlier process. Where no batch begins there any more the file is
// another one.
func (e *Engine) wrongStill(l *Log, s *segment.Segment, x *finding) error {
	pace := &pacer{ctx: context.Background(), e: e}
	r, err := e.openScrub(s.Path(), pace, scrubChunk)
	if err != nil {
		return err
	}
	defer r.close()
	at := int64(0)
	x.next = s.Base
	err = segment.Headers(r, 0, min(x.position, s.Size()), func(p segment.Place, _ record.Batch) bool {
		at, x.next = p.Position+int64(p.Size), p.LastOffset+1
		return true
	})
	if err == nil && at != x.position {
		return nil
	}
	return e.wrongAt(l, s, x, pace)
}

// condemn takes a log offline whose files are not what they were, while it is in use. What was acknowledged in the stage is written
// before, since nobody writes it afterwards.
func (l *Log) condemn(err error) {
	l.mu.Lock()
	l.mu.condemned = err // no more appends
	l.awaitIdle()
	l.mu.Unlock()
	_ = l.flushWritten() // its error takes the directory offline
	if !l.corrupt.CompareAndSwap(nil, &err) {
		return
	}
	l.e.log.Error("a log goes offline", "partition", l.name, "state", StateOf(err), "error", err)
	l.e.known.fresh.add(l)
	l.advanced() // who waits for records sees that none will come
}
