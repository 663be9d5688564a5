package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
	"golang.org/x/sys/unix"
)

// A call is a kind of disk call: what the engine was at, what it called, and on which file.
type call struct {
	operation string
	op        fs.Op
	name      string
}

func (c call) String() string { return fmt.Sprintf("%s: %v %s", c.operation, c.op, c.name) }

// operations are what an engine may be at, by the functions that a call comes from. The first that is on the stack counts.
var operations = []struct {
	name string
	from []string
}{
	{"recovery", []string{"Open", "(*Engine).openLog", "(*Engine).openLogs"}},
	{"truncate", []string{"(*Log).Truncate"}},
	{"retention", []string{"(*Engine).Retain"}},
	{"delete", []string{"(*Engine).Delete"}},
	{"stop", []string{"(*Engine).Close"}},
	{"snapshot", []string{"(*Log).replaceSnapshot"}},
	{"checkpoint", []string{"(*Engine).Checkpoint", "(*Engine).checkpointSoon", "(*Log).settle"}},
	{"evict", []string{"(*Log).evict", "(*Log).evictNow"}},
	{"roll", []string{"(*Log).seal"}},
	{"flush", []string{"(*Log).flushLocked", "(*Log).Flush", "(*Engine).flushTurn"}},
	{"create", []string{"(*Engine).Create"}},
	{"read", []string{"(*Log).read", "(*Log).OffsetForTime", "(*Range).Bytes", "(*Range).Release"}},
	{"append", []string{"(*Engine).write", "(*committer).run", "(*Log).Append", "(*Engine).committer"}},
}

const enginePath = "github.com/zurau/zurau/engine."

// inside is what the compiler adds to the name of a function for one that is written in it.
var inside = regexp.MustCompile(`(\.func\d+|\.\d+|\.gowrap\d+|-fm)+$`)

// operation names what the engine is at, in the goroutine that calls it.
func operation() string {
	var pcs [64]uintptr
	first := len(operations)
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		n, ok := places.Load(pc)
		if !ok {
			n = place(pc)
			places.Store(pc, n)
		}
		first = min(first, n.(int))
	}
	if first == len(operations) {
		return "other"
	}
	return operations[first].name
}

// places has the place of program counters in operations, since to find one out takes long.
var places sync.Map

// place returns the first operation that a function at a program counter, or one that the compiler has put into it, stands for.
func place(pc uintptr) int {
	first := len(operations)
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, ok := strings.CutPrefix(f.Function, enginePath)
		if !ok {
			continue
		}
		name = inside.ReplaceAllString(name, "")
		for i, o := range operations[:first] {
			if slices.Contains(o.from, name) {
				first = i
				break
			}
		}
	}
	return first
}

// A fault is one way in which a call fails.
type fault struct {
	name string
	err  error
}

var (
	ioError     = fault{"EIO", unix.EIO}
	full        = fault{"ENOSPC", unix.ENOSPC}
	interrupted = fault{"EINTR", unix.EINTR}
	short       = fault{"short", fs.ErrShort}
	delayed     = fault{"delayed", &fs.Delayed{Err: unix.EIO}}
)

// faultsOf returns the ways in which a kind of call can fail. Of the failure of a Datasync the twin makes what Linux does: the
// error of write-backs before it, which are lost for good. Delayed is that for one write among others.
func faultsOf(c call) []fault {
	if filepath.Base(c.name) == stageName && c.op <= fs.OpDatasync {
		return []fault{ioError, full}
	}
	switch c.op {
	case fs.OpWrite:
		return []fault{ioError, full, interrupted, short, delayed}
	case fs.OpWriteDurable:
		return []fault{ioError, full, interrupted, short}
	case fs.OpRead:
		return []fault{ioError, interrupted, short}
	case fs.OpMap, fs.OpStat, fs.OpReadDir, fs.OpClose, fs.OpQueue, fs.OpWait:
		return []fault{ioError, interrupted}
	}
	return []fault{ioError, full, interrupted}
}

// named reports whether an error says what failed, and where.
func (f fault) named(err error) bool {
	switch {
	case err == nil:
		return false
	case f == short:
		return errors.Is(err, io.ErrShortWrite) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, segment.ErrShortRead)
	}
	var errno syscall.Errno
	errors.As(f.err, &errno)
	return errors.Is(err, errno) && strings.Contains(err.Error(), "/")
}

// A spot is one call of a run: the nth of its kind, from 1.
type spot struct {
	call
	nth int
}

// A hit is a call that failed.
type hit struct {
	spot
	fault
}

// A choice says which calls fail, and how.
type choice func(spot) (fault, bool)

// A watch sees the calls of a disk, and has those fail that were chosen.
type watch struct {
	gate gate
	fail choice // nil: nothing fails
	each func(spot)
	mu   sync.Mutex
	seen map[call]int
	hit  []hit
}

// watched sets a watch on a disk.
func watched(disk *fs.Crash, fail choice) *watch {
	w := &watch{fail: fail, seen: map[call]int{}}
	disk.SetHook(func(op fs.Op, name string, _ int) error {
		w.gate.pass(op, name)
		c := call{operation(), op, name}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[c]++
		s := spot{c, w.seen[c]}
		if w.each != nil {
			w.mu.Unlock()
			w.each(s)
			w.mu.Lock()
		}
		if w.fail == nil {
			return nil
		}
		f, fails := w.fail(s)
		if !fails {
			return nil
		}
		w.hit = append(w.hit, hit{s, f})
		return f.err
	})
	return w
}

// once chooses the call of a spot.
func once(at spot, f fault) choice { return func(s spot) (fault, bool) { return f, s == at } }

func (w *watch) hits() []hit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.hit)
}

// names reports whether an error says what one of the calls failed with.
func (w *watch) names(err error) bool {
	return slices.ContainsFunc(w.hits(), func(h hit) bool { return h.named(err) })
}

// spots returns the calls that a watch has seen, in a fixed order.
func (w *watch) spots() (all []spot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, n := range w.seen {
		for i := range n {
			all = append(all, spot{c, i + 1})
		}
	}
	slices.SortFunc(all, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.op, b.op), cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth))
	})
	return all
}

// only narrows an enumeration down, for a look at some calls, all of them: ZURAU_FAULTS has words that all are to be in
// "operation: call file fault".
var only = strings.Fields(os.Getenv("ZURAU_FAULTS"))

// wanted reports whether an enumeration is to have a fault.
func wanted(s spot, f fault) bool {
	text := fmt.Sprintf("%v %s", s.call, f.name)
	return !slices.ContainsFunc(only, func(word string) bool { return !strings.Contains(text, word) })
}

// tally counts what was injected, by operation and fault.
type tally struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

func (t *tally) add(operation, fault string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]map[string]int{}
	}
	if t.counts[operation] == nil {
		t.counts[operation] = map[string]int{}
	}
	t.counts[operation][fault]++
}

// kinds are the columns of the table.
var kinds = []string{"EIO", "ENOSPC", "EINTR", "short", "delayed", "killed", "power cut"}

// String is a table, a row for each operation, below what they were in all.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	total := 0
	fmt.Fprintf(&b, "%-11s", "")
	for _, k := range kinds {
		fmt.Fprintf(&b, "%10s", k)
	}
	for _, o := range operations {
		if t.counts[o.name] == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%-11s", o.name)
		for _, k := range kinds {
			fmt.Fprintf(&b, "%10d", t.counts[o.name][k])
			total += t.counts[o.name][k]
		}
	}
	return fmt.Sprintf("%d injected faults; this process has had no more than %s of memory\n%s", total, memory("self", "VmHWM"), b.String())
}
