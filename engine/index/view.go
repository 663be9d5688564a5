package index

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"

	"github.com/zurau/zurau/engine/fs"
)

// readBelow is the size in bytes up to which a file is read instead of mapped: a mapping costs a page of cache and a
// kernel structure anyway, and a read never faults.
const readBelow = 4096

// find returns the last entry whose key is at most target, or ok false; with behind the first one whose value is at least
// target, or that after it: see pick. With noWait it returns fs.ErrWouldBlock where the file would have to be read: a load from a mapping
// may be a read, too.
func (t *table) find(target int64, behind, noWait bool) (entry [12]byte, ok bool, err error) {
	if noWait {
		return t.findInMemory(target, behind)
	}
	t.mu.RLock()
	if t.n == 0 || t.act != nil || t.view != nil {
		entry, ok, err = t.search(target, behind)
		t.mu.RUnlock()
		return entry, ok, err
	}
	t.mu.RUnlock()

	t.mu.Lock()
	var evicted *table
	if err = t.see(); err == nil {
		if t.view != nil { // else the owner has made it active meanwhile
			evicted = t.bound.add(t)
		}
		entry, ok, err = t.search(target, behind)
	}
	t.mu.Unlock()
	// Outside of mu: two indexes that push each other out would wait for each other.
	return entry, ok, errors.Join(err, evicted.evict())
}

// findInMemory is find with noWait. Who has mu may be waiting for a disk.
func (t *table) findInMemory(target int64, behind bool) (entry [12]byte, ok bool, err error) {
	if !t.mu.TryRLock() {
		return entry, false, fs.ErrWouldBlock
	}
	defer t.mu.RUnlock()
	if t.n == 0 || t.act != nil || t.view != nil && t.view.mapping == nil {
		return t.search(target, behind)
	}
	return entry, false, fs.ErrWouldBlock
}

// search looks in memory or in the view. The caller holds mu, at least for reading.
func (t *table) search(target int64, behind bool) (entry [12]byte, ok bool, err error) {
	switch {
	case t.n == 0:
		return entry, false, nil
	case t.act != nil:
		entry, ok = t.pick(t.act.mem, target, behind)
		return entry, ok, nil
	case t.view.mapping == nil:
		entry, ok = t.pick(t.view.bytes, target, behind)
	default:
		entry, ok, err = t.searchMapped(target, behind)
	}
	if !t.used.Load() {
		t.used.Store(true)
	}
	return entry, ok, err
}

// pick is find in the entries b.
func (t *table) pick(b []byte, target int64, behind bool) (entry [12]byte, ok bool) {
	if !behind {
		i := t.floor(b, target, false)
		return t.entry(b, i-1), i > 0
	}
	i := t.floor(b, target-1, true)
	if i == 0 && len(b) > 0 && int64(value(b[:t.width])) == target {
		i++ // Kafka's search does not see that the first entry is a match
	}
	if i < len(b)/int(t.width) {
		return t.entry(b, i), true
	}
	return entry, false
}

// entry returns a copy of entry i of b, or zeros when i is -1.
func (t *table) entry(b []byte, i int) (entry [12]byte) {
	if i >= 0 {
		w := int(t.width)
		copy(entry[:], b[i*w:i*w+w])
	}
	return entry
}

// searchMapped is search in a mapping, where each load may fault.
func (t *table) searchMapped(target int64, behind bool) (entry [12]byte, ok bool, err error) {
	b := t.view.bytes
	t.view.mapping.Load()
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			ok, err = false, t.fault(b, r)
		}
	}()
	entry, ok = t.pick(b, target, behind)
	return entry, ok, nil
}

// fault turns a memory fault within b into an error and lets every other panic go on.
func (t *table) fault(b []byte, r any) error {
	f, ok := r.(interface{ Addr() uintptr })
	start := reflect.ValueOf(b).Pointer()
	if !ok || f.Addr() < start || f.Addr() >= start+uintptr(len(b)) {
		panic(r)
	}
	return fmt.Errorf("%w: fault at position %d of the mapped %s", ErrCorrupt, f.Addr()-start, t.name)
}

// see makes the view of an index at rest. The caller holds mu.
func (t *table) see() error {
	if t.act != nil || t.view != nil || t.n == 0 {
		return nil
	}
	f, err := t.fsys.Open(t.name, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open index: %w", lost(err))
	}
	defer f.Close() // a mapping outlives the descriptor
	need := int(t.n) * int(t.width)
	if need > readBelow {
		v, err := t.mapFile(f, need)
		if err == nil {
			t.view = v
		}
		if !errors.Is(err, fs.ErrUnsupported) {
			return err
		}
	}
	b := make([]byte, need)
	if err := readFull(f, b, 0); err != nil {
		return fmt.Errorf("read %d bytes of %s: %w", need, t.name, lost(err))
	}
	t.view = &view{bytes: b}
	return nil
}

func (t *table) mapFile(f fs.File, need int) (*view, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", t.name, err)
	}
	if size < int64(need) {
		return nil, fmt.Errorf("%w: %s was cut from %d bytes to %d", ErrCorrupt, t.name, need, size)
	}
	m, err := f.Map(need)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of %s: %w", need, t.name, err)
	}
	return &view{bytes: m.Bytes()[:need], mapping: m}, nil
}

// unmap drops the view. The caller holds mu.
func (t *table) unmap() error {
	v := t.view
	if v == nil {
		return nil
	}
	t.view = nil
	t.bound.remove(t)
	if v.mapping == nil {
		return nil
	}
	if err := v.mapping.Close(); err != nil {
		return fmt.Errorf("unmap %s: %w", t.name, err)
	}
	return nil
}

// lost marks the error of a file that is gone or shorter than it was as one that a rebuild helps against.
func lost(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}
