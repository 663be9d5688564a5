package checkpoint

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/zurau/zurau/engine/fs"
)

// LeaderEpochsName is the file of a log's leader epochs, in the log's folder.
const LeaderEpochsName = "leader-epoch-checkpoint"

// Epoch says that records from StartOffset on were appended by the leader of Epoch.
type Epoch struct {
	Epoch       int32
	StartOffset int64
}

// LeaderEpochs is the history of the leader epochs of one log: what it answers to OffsetsForLeaderEpoch (KIP-101,
// KIP-279) and how a follower finds where its log left the leader's. The zero value is an empty history. Safe for
// concurrent use.
//
// It is memory only: methods that return changed ask their caller to Write it, before the first record of a new epoch
// is acknowledged after Assign, at leisure after a truncation (a stale entry at the end is cut again by TruncateFromEnd
// at the next start).
type LeaderEpochs struct {
	mu struct {
		sync.RWMutex
		// entries rise strictly in both fields.
		entries []Epoch
	}
}

// ReadLeaderEpochs reads the history of the log in the folder dir. Errors: os.ErrNotExist, ErrCorrupt (rebuild it from
// the batch headers), or one of the file system.
func ReadLeaderEpochs(fsys fs.FS, dir string) (*LeaderEpochs, error) {
	name := filepath.Join(dir, LeaderEpochsName)
	b, err := readFile(fsys, name)
	if err != nil {
		return nil, err
	}
	entries, err := parseEpochs(name, b)
	if err != nil {
		return nil, err
	}
	e := new(LeaderEpochs)
	e.mu.entries = entries
	return e, nil
}

// Write replaces the file in the folder dir.
func (e *LeaderEpochs) Write(fsys fs.FS, dir string) error {
	return Replace(fsys, filepath.Join(dir, LeaderEpochsName), appendEpochs(nil, e.Entries()))
}

// Assign records that epoch starts at startOffset. It reports whether the history changed: an epoch that is the latest
// one already does so only with a smaller start. Entries that contradict the new one (the same or a later epoch, or a
// start at or behind it) are removed, so that the history stays strictly rising. Negative arguments are a bug.
func (e *LeaderEpochs) Assign(epoch int32, startOffset int64) (changed bool) {
	if epoch < 0 || startOffset < 0 {
		panic(fmt.Sprintf("checkpoint: leader epoch %d from offset %d", epoch, startOffset))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.mu.entries)
	if n > 0 && e.mu.entries[n-1].Epoch == epoch && startOffset >= e.mu.entries[n-1].StartOffset {
		return false
	}
	for n > 0 && (e.mu.entries[n-1].Epoch >= epoch || e.mu.entries[n-1].StartOffset >= startOffset) {
		n--
	}
	e.mu.entries = append(e.mu.entries[:n], Epoch{epoch, startOffset})
	return true
}

// EndOffsetFor answers where epoch ends in a log that ends at logEnd, as a leader does (KIP-279): the largest known
// epoch that is not above the asked one, and the start of the one after it.
//
//	asked                            answer
//	-1, or above every known epoch   -1, -1: undefined
//	the latest epoch                 it, logEnd
//	below every known epoch          the asked one, the first known start: what was before is gone
//	else                             the largest known epoch <= asked, the start of the next
func (e *LeaderEpochs) EndOffsetFor(epoch int32, logEnd int64) (found int32, endOffset int64) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.mu.entries
	if epoch < 0 || len(s) == 0 {
		return -1, -1
	}
	next := sort.Search(len(s), func(i int) bool { return s[i].Epoch > epoch })
	switch {
	case next == len(s) && s[next-1].Epoch == epoch:
		return epoch, logEnd
	case next == len(s):
		return -1, -1
	case next == 0:
		return epoch, s[0].StartOffset
	default:
		return s[next-1].Epoch, s[next].StartOffset
	}
}

// EpochAt returns the epoch in which the record at offset was or will be appended, -1 when the history starts later.
func (e *LeaderEpochs) EpochAt(offset int64) int32 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	s := e.mu.entries
	next := sort.Search(len(s), func(i int) bool { return s[i].StartOffset > offset })
	if next == 0 {
		return -1
	}
	return s[next-1].Epoch
}

// Latest returns the last entry, or ok false.
func (e *LeaderEpochs) Latest() (last Epoch, ok bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if n := len(e.mu.entries); n > 0 {
		return e.mu.entries[n-1], true
	}
	return Epoch{}, false
}

// Entries returns a copy of the history.
func (e *LeaderEpochs) Entries() []Epoch {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Clone(e.mu.entries)
}

// TruncateFromEnd removes epochs that start at or behind endOffset, the log's new end.
func (e *LeaderEpochs) TruncateFromEnd(endOffset int64) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.mu.entries)
	for n > 0 && e.mu.entries[n-1].StartOffset >= endOffset {
		n--
	}
	changed = n < len(e.mu.entries)
	e.mu.entries = e.mu.entries[:n]
	return changed
}

// TruncateFromStart removes epochs that end before startOffset, the log's new start. The one that startOffset is in
// stays and now starts there.
func (e *LeaderEpochs) TruncateFromStart(startOffset int64) (changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.mu.entries
	next := sort.Search(len(s), func(i int) bool { return s[i].StartOffset > startOffset })
	if next == 0 || next == 1 && s[0].StartOffset == startOffset {
		return false
	}
	s = slices.Delete(s, 0, next-1)
	s[0].StartOffset = startOffset
	e.mu.entries = s
	return true
}

func parseEpochs(name string, content []byte) ([]Epoch, error) {
	l, err := openLines(name, content)
	if err != nil {
		return nil, err
	}
	entries := make([]Epoch, 0, l.left)
	for {
		w, ok, err := l.next(2)
		if err != nil {
			return nil, err
		}
		if !ok {
			return entries, nil
		}
		epoch, err := l.number("leader epoch", w[0], 32)
		if err != nil {
			return nil, err
		}
		start, err := l.number("start offset", w[1], 64)
		if err != nil {
			return nil, err
		}
		next := Epoch{int32(epoch), start}
		if n := len(entries); n > 0 && (next.Epoch <= entries[n-1].Epoch || next.StartOffset <= entries[n-1].StartOffset) {
			return nil, corrupt(name, l.line, "%d %d after %d %d: both must rise",
				next.Epoch, next.StartOffset, entries[n-1].Epoch, entries[n-1].StartOffset)
		}
		entries = append(entries, next)
	}
}

func appendEpochs(b []byte, entries []Epoch) []byte {
	b = appendHeader(b, len(entries))
	for _, e := range entries {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.StartOffset, 10)
		b = append(b, '\n')
	}
	return b
}
