package logfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/record"
)

// made is a log directory that the engine wrote: the log t-0 of batches of one record, flushed up to a checkpoint, and then
// some more.
type made struct {
	t    *testing.T
	root string
	dir  string // of t-0
}

// how a directory is made. The zero value is an async log of small segments that is killed.
type how struct {
	sync, clean bool
	large       bool // segments with index entries
	flushed     int  // batches up to the checkpoint; 0: 60
	beyond      int  // batches behind it; 0: 5
	bytes       int  // of a record; 0: 100
	early       bool // killed before the first checkpoint
	staged      bool // appends are acknowledged in the stage
	guarded     bool // the guards are left where they are
}

func (h how) config() engine.Config {
	c := engine.Config{SegmentBytes: 2000, IndexInterval: 300, DeleteDelay: -1, RetentionAge: -1, RetentionBytes: -1, Writer: engine.WriterBuffered}
	if h.large {
		c.SegmentBytes = 20_000
	}
	if h.bytes > 0 {
		c.SegmentBytes = 1 << 30
	}
	if h.sync {
		c.FlushMessages = 1
	}
	return c
}

func make1(t *testing.T, h how) *made {
	t.Helper()
	for range 50 {
		d := makeOnce(t, h)
		if !h.staged {
			return d
		}
		if states, _ := d.verify(); states[engine.Staged] > 0 {
			return d
		}
	}
	t.Fatal("writers were faster than each copy of the directory")
	return nil
}

func makeOnce(t *testing.T, h how) *made {
	t.Helper()
	live := t.TempDir()
	stage := int64(-1)
	if h.staged {
		stage = 0
	}
	e, err := engine.Open(engine.Options{Dir: live, StageBytes: stage, CheckpointInterval: time.Hour, SyncMethod: engine.SyncFdatasync, Now: func() time.Time { return time.UnixMilli(now) }})
	must(t, err)
	l, err := e.Create(engine.Name{Topic: "t"}, [16]byte{1}, h.config())
	must(t, err)
	h.flushed, h.beyond, h.bytes = or(h.flushed, 60), or(h.beyond, 5), or(h.bytes, 100)
	fill(t, l, h.flushed, h.bytes)
	if !h.early {
		must(t, e.Checkpoint())
	}
	fill(t, l, h.beyond, h.bytes)
	if h.clean {
		must(t, e.Close())
	}
	d := &made{t: t, root: filepath.Join(t.TempDir(), "data")}
	must(t, os.CopyFS(d.root, os.DirFS(live)))
	if !h.clean {
		must(t, e.Close())
	}
	d.dir = filepath.Join(d.root, "t-0")
	if !h.guarded {
		d.unguard()
	}
	return d
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

const now = 1_700_000_000_000

// fill appends batches of one record each, by one idempotent producer.
func fill(t *testing.T, l *engine.Log, n, size int) {
	t.Helper()
	done := make(chan engine.Appended, 1)
	for range n {
		at := l.LogEndOffset()
		b := record.NewBuilder(record.None)
		b.Producer(7, 0, int32(at))
		b.Add(now+at, nil, value(at, size))
		p := new(record.Prepared)
		must(t, p.Prepare(b.Bytes(), record.DefaultRules(now)))
		l.Append(p, 0, func(a engine.Appended) { done <- a })
		if a := <-done; a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

func value(offset int64, size int) []byte {
	return append(fmt.Appendf(nil, "value %d ", offset), bytes.Repeat([]byte{'.'}, size)...)
}

// unguard removes the guards: most rows are of what is found without.
func (d *made) unguard() {
	d.t.Helper()
	guards, err := filepath.Glob(filepath.Join(d.dir, "*"+guard.Suffix))
	must(d.t, err)
	for _, name := range guards {
		d.remove(name)
	}
}

// segments returns the base offsets.
func (d *made) segments() (bases []int64) {
	d.t.Helper()
	entries, err := os.ReadDir(d.dir)
	must(d.t, err)
	for _, e := range entries {
		if _, base := KindOf(e.Name()); filepath.Ext(e.Name()) == ".log" {
			bases = append(bases, base)
		}
	}
	return bases
}

// file returns the path of a file of the segment number i, from the end where i is negative.
func (d *made) file(i int, suffix string) string {
	d.t.Helper()
	bases := d.segments()
	if i < 0 {
		i += len(bases)
	}
	return filepath.Join(d.dir, fmt.Sprintf("%020d%s", bases[i], suffix))
}

// snapshot returns the path of the newest producer snapshot.
func (d *made) snapshot() string {
	d.t.Helper()
	all, err := filepath.Glob(filepath.Join(d.dir, "*.snapshot"))
	must(d.t, err)
	slices.Sort(all)
	return all[len(all)-1]
}

func (d *made) read(path string) []byte {
	d.t.Helper()
	b, err := os.ReadFile(path)
	must(d.t, err)
	return b
}

func (d *made) write(path string, b []byte) {
	d.t.Helper()
	must(d.t, os.WriteFile(path, b, 0o644))
}

func (d *made) change(path string, with func([]byte) []byte) {
	d.t.Helper()
	d.write(path, with(d.read(path)))
}
func (d *made) remove(path string)    { d.t.Helper(); must(d.t, os.RemoveAll(path)) }
func (d *made) at(name string) string { return filepath.Join(d.root, name) }
func (d *made) in(name string) string { return filepath.Join(d.dir, name) }

// batchAt returns where the batch with an offset is.
func (d *made) batchAt(offset int64) (path string, position, size int64) {
	d.t.Helper()
	bases := d.segments()
	for i, base := range bases {
		if i+1 < len(bases) && bases[i+1] <= offset {
			continue
		}
		path = d.file(i, ".log")
		f, n, err := open(path)
		must(d.t, err)
		defer f.Close()
		must(d.t, Scan(f, n, base, func(s Span) error {
			if s.Batch != nil && s.Err == nil && s.Batch.BaseOffset() == offset {
				position, size = s.Position, s.End-s.Position
			}
			return nil
		}))
		break
	}
	if size == 0 {
		d.t.Fatalf("no batch at offset %d", offset)
	}
	return path, position, size
}

// flip changes a byte of a batch, past its header.
func (d *made) flip(offset int64) {
	d.t.Helper()
	path, at, _ := d.batchAt(offset)
	d.change(path, func(b []byte) []byte { b[at+80] ^= 0x20; return b })
}

// unframe breaks the length of a batch.
func (d *made) unframe(offset int64) {
	d.t.Helper()
	path, at, _ := d.batchAt(offset)
	d.change(path, func(b []byte) []byte { b[at+8] = 0x7f; return b })
}

// unwrite takes what came behind the checkpoint out of the last segment, as if a writer had come no further than some bytes.
func (d *made) unwrite(begun []byte) {
	d.t.Helper()
	path, at, size := d.batchAt(59)
	d.change(path, func(b []byte) []byte { return append(b[:at+size:at+size], begun...) })
}

// rewrite changes a batch's header and makes its checksum right again.
func (d *made) rewrite(offset int64, with func(b record.Batch)) {
	d.t.Helper()
	path, at, size := d.batchAt(offset)
	d.change(path, func(b []byte) []byte {
		batch := record.Batch(b[at : at+size])
		with(batch)
		binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
		return b
	})
}

func (d *made) checkpoint(file string, offset int64) {
	d.t.Helper()
	must(d.t, checkpoint.WriteOffsets(fs.OS(), d.at(file), []checkpoint.Offset{{Topic: "t", Offset: offset}}))
}

// verify returns how often each state is found, and what is told.
func (d *made) verify() (map[engine.State]int64, []Problem) {
	d.t.Helper()
	var all []Problem
	v := Verify{Records: true, Report: func(p Problem) { all = append(all, p) }}
	must(d.t, v.Path(d.root))
	return v.Summary.States, all
}

// start opens the directory and returns what it met, and the log t-0 where there is one.
func (d *made) start() (*engine.Engine, *engine.Log) {
	d.t.Helper()
	e, err := engine.Open(engine.Options{Dir: d.root, CheckpointInterval: time.Hour, SyncMethod: engine.SyncFdatasync, Now: func() time.Time { return time.UnixMilli(now) }})
	must(d.t, err)
	d.t.Cleanup(func() { e.Close() })
	l, _ := e.Log(engine.Name{Topic: "t"})
	return e, l
}

// refused opens the directory, which has to be refused.
func (d *made) refused(want error) {
	d.t.Helper()
	e, err := engine.Open(engine.Options{Dir: d.root})
	if err == nil {
		e.Close()
	}
	if !errors.Is(err, want) {
		d.t.Errorf("it is refused with %v", err)
	}
}

// offsets reads a log from its start to its end through the engine and returns the offsets of its records, each with the
// value that fill gave it.
func offsets(t *testing.T, l *engine.Log, size int) (all []int64) {
	t.Helper()
	must(t, l.Err())
	for next := l.LogStartOffset(); next < l.LogEndOffset(); {
		r, err := l.Read(next, 1<<20, true)
		must(t, err)
		b, err := r.Bytes()
		must(t, err)
		if len(b) == 0 {
			t.Fatalf("nothing at offset %d of %d", next, l.LogEndOffset())
		}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				break // cut off by the limit
			}
			must(t, batch.Check())
			for rec, err := range batch.Records(0) {
				must(t, err)
				if !bytes.Equal(rec.Value, value(rec.Offset, size)) {
					t.Fatalf("offset %d has %.40q", rec.Offset, rec.Value)
				}
				all = append(all, rec.Offset)
			}
			next, b = batch.LastOffset()+1, rest
		}
		r.Release()
	}
	return all
}

// isOffline reports whether a row says that the log goes offline.
func isOffline(r engine.Row) bool { return strings.HasPrefix(r.Done, "the log is offline") }
