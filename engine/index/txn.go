package index

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"

	"github.com/zurau/zurau/engine/fs"
)

// keptTxns is how many entries an index keeps in memory after a Flush: 128 KiB. An index with more is read from its file.
const keptTxns = 4096

// Txn is the transaction index of one segment: the transactions that were aborted by a marker in it.
//
//	entries   0 ............. resting | 0 ........... written ........... len(mem)
//	          in the file alone       | in memory, and in the file below written
type Txn struct {
	fsys fs.FS
	name string
	base int64

	disk sync.Mutex // held over calls that change the file; taken before mu
	file fs.File    // open while it has writes that are not flushed; under disk

	mu      sync.RWMutex // what follows is under it, held over memory alone
	mem     []AbortedTxn
	resting int64 // entries
	written int   // entries of mem; changed under disk, too
	// last is the offset of the last entry's marker, restLast that of the last resting one; less than the base without.
	last, restLast int64
}

// NewTxn returns an index without entries. The first Flush makes its file.
func NewTxn(fsys fs.FS, name string, base int64) *Txn {
	return &Txn{fsys: fsys, name: name, base: base, last: base - 1, restLast: base - 1}
}

// OpenTxn returns the index in a file that is there. An ErrCorrupt asks for a rebuild: the index is returned, too, and is
// to be Reset and filled from the log.
func OpenTxn(fsys fs.FS, name string, base int64) (*Txn, error) {
	x := NewTxn(fsys, name, base)
	b, err := x.readFile()
	if err != nil {
		return nil, err
	}
	list, err := ParseTxns(b, base)
	if err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	x.mem, x.written = list, len(list)
	if n := len(list); n > 0 {
		x.last = list[n-1].LastOffset
	}
	return x, nil
}

func (x *Txn) readFile() ([]byte, error) {
	f, err := x.fsys.Open(x.name, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("open transaction index: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", x.name, err)
	}
	b := make([]byte, min(size, 1<<31-1))
	if err := readFull(f, b, 0); err != nil {
		return nil, fmt.Errorf("read %d bytes of %s: %w", len(b), x.name, err)
	}
	return b, nil
}

// Append adds a transaction that was aborted. It touches memory only. ErrOrder: its marker is not behind the last one.
func (x *Txn) Append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.LastOffset <= x.last {
		return fmt.Errorf("marker at offset %d after %d in %s: %w", t.LastOffset, x.last, x.name, ErrOrder)
	}
	x.mem = append(x.mem, t)
	x.last = t.LastOffset
	return nil
}

// Collect appends to dst the transactions with an offset in [from, to), in the order of their markers; their marker may be
// behind to. done reports that the indexes of later segments have no more. With noWait it returns fs.ErrWouldBlock where
// the file would have to be read.
func (x *Txn) Collect(dst []AbortedTxn, from, to int64, noWait bool) (_ []AbortedTxn, done bool, err error) {
	x.mu.RLock()
	mem, resting, restLast := x.mem, x.resting, x.restLast
	x.mu.RUnlock()
	if resting > 0 && restLast >= from {
		if noWait {
			return dst, false, fs.ErrWouldBlock
		}
		list, err := x.rest(resting)
		if err != nil {
			return dst, false, err
		}
		if dst, done = collect(dst, list, from, to); done {
			return dst, true, nil
		}
	}
	dst, done = collect(dst, mem, from, to)
	return dst, done, nil
}

// rest reads the first n entries from the file, which has them at least.
func (x *Txn) rest(n int64) ([]AbortedTxn, error) {
	b, err := x.readFile()
	if err != nil {
		return nil, lost(err)
	}
	if int64(len(b)) < n*TxnWidth {
		return nil, fmt.Errorf("%w: %s has %d bytes, and had %d entries", ErrCorrupt, x.name, len(b), n)
	}
	list, err := ParseTxns(b[:n*TxnWidth], x.base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	return list, nil
}

// Entries returns the number of entries.
func (x *Txn) Entries() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return int(x.resting) + len(x.mem)
}

// Flush puts the entries that were appended before it was called on stable storage, always: an entry that is lost is not
// missed by who reads the file. The caller syncs the directory; made reports that there was no file. Its error is final
// for the directory.
func (x *Txn) Flush() (made bool, err error) {
	x.disk.Lock()
	defer x.disk.Unlock()
	x.mu.RLock()
	mem, at := x.mem, x.resting+int64(x.written)
	fresh := mem[x.written:]
	x.mu.RUnlock()
	if len(fresh) > 0 {
		if err := x.write(fresh, at); err != nil {
			return false, err
		}
	}
	if err := x.sync(); err != nil {
		return false, err
	}
	x.mu.Lock()
	x.written = len(mem)
	x.mu.Unlock()
	if len(mem) > keptTxns {
		x.settle()
	}
	return at == 0 && len(fresh) > 0, nil
}

// write writes entries to the file, which may have a torn one where they belong. The caller holds disk.
func (x *Txn) write(list []AbortedTxn, at int64) error {
	if x.file == nil {
		f, err := x.fsys.Open(x.name, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return fmt.Errorf("open transaction index: %w", err)
		}
		x.file = f
	}
	b := make([]byte, 0, len(list)*TxnWidth)
	for _, t := range list {
		b = t.AppendTo(b)
	}
	if err := x.file.Write(b, at*TxnWidth, false); err != nil {
		return fmt.Errorf("write %d bytes of %s at %d: %w", len(b), x.name, at*TxnWidth, err)
	}
	return nil
}

// sync flushes and closes the file where it has writes that are not flushed. The caller holds disk.
func (x *Txn) sync() error {
	if x.file == nil {
		return nil
	}
	if err := x.file.Datasync(); err != nil {
		return fmt.Errorf("flush %s: %w", x.name, err)
	}
	f := x.file
	x.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", x.name, err)
	}
	return nil
}

// settle lets go of the entries that the file has. The caller holds disk.
func (x *Txn) settle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.written == 0 {
		return
	}
	x.restLast = x.mem[x.written-1].LastOffset
	x.resting += int64(x.written)
	x.mem, x.written = append([]AbortedTxn(nil), x.mem[x.written:]...), 0
}

// Seal is Flush for a segment that gets no more: its entries are let go of, and read from the file on need.
func (x *Txn) Seal() (made bool, err error) {
	if made, err = x.Flush(); err != nil {
		return made, err
	}
	x.disk.Lock()
	defer x.disk.Unlock()
	x.settle()
	return made, nil
}

// TruncateTo removes the entries whose marker is at offset or above, durably.
func (x *Txn) TruncateTo(offset int64) error {
	x.mu.RLock()
	none := x.last < offset
	x.mu.RUnlock()
	if none {
		return nil
	}
	x.disk.Lock()
	defer x.disk.Unlock()
	if err := x.wake(); err != nil {
		return err
	}
	x.mu.Lock()
	n := sort.Search(len(x.mem), func(i int) bool { return x.mem[i].LastOffset >= offset })
	shorter := n < x.written
	x.mem, x.written = append([]AbortedTxn(nil), x.mem[:n]...), min(x.written, n)
	x.last = x.base - 1
	if n > 0 {
		x.last = x.mem[n-1].LastOffset
	}
	x.mu.Unlock()
	if !shorter {
		return nil
	}
	return x.cut(int64(n))
}

// wake brings all entries into memory. The caller holds disk.
func (x *Txn) wake() error {
	x.mu.RLock()
	resting := x.resting
	x.mu.RUnlock()
	if resting == 0 {
		return nil
	}
	list, err := x.rest(resting)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mem = append(list, x.mem...)
	x.written += len(list)
	x.resting, x.restLast = 0, x.base-1
	return nil
}

// cut makes the file n entries long, durably. The caller holds disk.
func (x *Txn) cut(n int64) error {
	f, err := x.fsys.Open(x.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("open transaction index: %w", err)
	}
	if err := f.Truncate(n * TxnWidth); err != nil {
		return errors.Join(fmt.Errorf("cut %s to %d entries: %w", x.name, n, err), f.Close())
	}
	if err := f.Datasync(); err != nil {
		return errors.Join(fmt.Errorf("flush %s: %w", x.name, err), f.Close())
	}
	return f.Close()
}

// Reset removes all entries, from the file too, durably: before it is filled from the log.
func (x *Txn) Reset() error {
	x.disk.Lock()
	defer x.disk.Unlock()
	x.mu.Lock()
	x.mem, x.written, x.resting = nil, 0, 0
	x.last, x.restLast = x.base-1, x.base-1
	x.mu.Unlock()
	return x.cut(0)
}

// Replace replaces all entries, in the file too, durably, and lets go of their memory as Seal does. Who reads meanwhile has
// the new ones.
func (x *Txn) Replace(list []AbortedTxn) error {
	x.disk.Lock()
	defer x.disk.Unlock()
	x.mu.Lock()
	x.mem, x.written, x.resting = list, 0, 0
	x.last, x.restLast = x.base-1, x.base-1
	if n := len(list); n > 0 {
		x.last = list[n-1].LastOffset
	}
	x.mu.Unlock()
	if err := x.cut(0); err != nil {
		return err
	}
	if err := x.write(list, 0); err != nil {
		return err
	}
	if err := x.sync(); err != nil {
		return err
	}
	x.mu.Lock()
	x.written = len(list)
	x.mu.Unlock()
	x.settle()
	return nil
}

// Close lets go of the file. Entries that were never written are dropped: Seal keeps them. Who still holds the segment may
// go on reading.
func (x *Txn) Close() error {
	x.disk.Lock()
	defer x.disk.Unlock()
	err := x.sync()
	if err != nil && x.file != nil { // it has told its error
		err = errors.Join(err, x.file.Close())
		x.file = nil
	}
	return err
}
