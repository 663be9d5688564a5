package index

import (
	"errors"
	"fmt"
	"os"
)

// Flush makes the file hold exactly the entries that were appended before it was called, written (a crash of the process
// keeps them) or, with durable, flushed. It makes the file where there is none, even without entries; the caller syncs
// the directory. Appends and lookups go on meanwhile. An error of a durable Flush is final for the directory, as every
// flush error is.
func (t *table) Flush(durable bool) error {
	t.disk.Lock()
	defer t.disk.Unlock()
	return t.flush(durable)
}

// flush is Flush for a caller that holds disk.
func (t *table) flush(durable bool) error {
	if durable && t.found {
		if err := t.syncFound(); err != nil {
			return err
		}
	}
	t.mu.Lock()
	if t.act == nil && t.size >= 0 {
		t.mu.Unlock()
		return nil
	}
	if t.act == nil { // no file and no entries: Kafka has an empty file here
		t.act = &active{}
	}
	a, mem := t.act, t.act.mem // of which nobody changes the bytes: a cut needs disk
	t.mu.Unlock()
	end := int64(len(mem))
	if t.size != end || a.written != end {
		if err := t.write(a, mem); err != nil {
			return err
		}
	}
	if !durable || a.file == nil {
		return nil
	}
	return t.sync(a)
}

// write brings what is new in mem to the file, and the file to its length. The caller holds disk.
func (t *table) write(a *active, mem []byte) error {
	if err := t.openForWriting(a); err != nil {
		return err
	}
	end := int64(len(mem))
	if a.written < end {
		if err := a.file.Write(mem[a.written:], a.written, false); err != nil {
			return fmt.Errorf("write %d bytes of %s at %d: %w", end-a.written, t.name, a.written, err)
		}
		t.size, a.written = max(t.size, end), end
	}
	return t.shorten(a, end)
}

// shorten cuts the open file to end bytes if it is longer. The caller holds disk.
func (t *table) shorten(a *active, end int64) error {
	if t.size <= end {
		return nil
	}
	if err := a.file.Truncate(end); err != nil {
		return fmt.Errorf("cut %s to %d bytes: %w", t.name, end, err)
	}
	t.size = end
	return nil
}

// sync flushes and closes the file. The caller holds disk.
func (t *table) sync(a *active) error {
	if err := a.file.Datasync(); err != nil {
		return fmt.Errorf("flush %s: %w", t.name, err)
	}
	f := a.file
	a.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", t.name, err)
	}
	return nil
}

// Found says that the file may have entries that a process wrote that was killed, and that nobody has flushed. The next durable Flush,
// or Seal or Close, does.
func (t *table) Found() {
	t.disk.Lock()
	defer t.disk.Unlock()
	t.found = true
}

// syncFound flushes the file as it was found, where it is still there: its segment may have been removed. The caller holds disk.
func (t *table) syncFound() error {
	if _, err := t.fsys.Stat(t.name); t.size < 0 || errors.Is(err, os.ErrNotExist) {
		t.found = false
		return nil
	}
	f, err := t.fsys.Open(t.name, os.O_RDWR|os.O_CREATE) // as all writers do: who opens so waits for a descriptor
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	if err := errors.Join(f.Datasync(), f.Close()); err != nil {
		return fmt.Errorf("flush %s: %w", t.name, err)
	}
	t.found = false
	return nil
}

// openForWriting opens the file, creating it if need be. The caller holds disk.
func (t *table) openForWriting(a *active) error {
	if a.file != nil {
		return nil
	}
	f, err := t.fsys.Open(t.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	a.file = f
	t.size = max(t.size, 0)
	return nil
}

// truncate keeps the first entries, as many as keep says of all of them; durably where the file has more: entries of
// batches that are gone could otherwise be believed after a crash.
func (t *table) truncate(keep func(mem []byte) int) error {
	t.disk.Lock()
	defer t.disk.Unlock()
	a, end, err := t.cut(keep)
	if err != nil {
		return err
	}
	a.written = min(a.written, end)
	if t.size <= end {
		return nil
	}
	if err := t.openForWriting(a); err != nil {
		return err
	}
	if err := t.shorten(a, end); err != nil {
		return err
	}
	return t.sync(a)
}

// cut is the part of truncate in memory. It returns the length that is left. The file is not mapped after it.
func (t *table) cut(keep func(mem []byte) int) (a *active, end int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.activate(); err != nil {
		return nil, 0, err
	}
	n := keep(t.act.mem)
	end = int64(n) * int64(t.width)
	t.act.mem, t.n = t.act.mem[:end], int32(n)
	if n > 0 {
		copy(t.last[:], t.act.mem[end-int64(t.width):])
	}
	return t.act, end, nil
}

// Reset removes all entries, from the file too: what a segment does before it builds the index again from its log.
func (t *table) Reset() error {
	t.mu.Lock()
	if t.act == nil { // without reading what is to be thrown away, which may be what cannot be read
		if err := t.unmap(); err != nil {
			t.mu.Unlock()
			return err
		}
		t.act, t.n = &active{}, 0
	}
	t.mu.Unlock()
	return t.truncate(func([]byte) int { return 0 })
}

// Seal flushes the index durably and lets go of its memory: for a segment that is rolled or seldom used. The next
// Append makes it active again.
func (t *table) Seal() error {
	t.disk.Lock()
	defer t.disk.Unlock()
	for {
		if err := t.flush(true); err != nil {
			return err
		}
		if done, err := t.deactivate(); done || err != nil {
			return err
		}
	}
}

// deactivate drops the memory of an index whose file has everything. It is not done when an Append came between.
func (t *table) deactivate() (done bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.act != nil && int64(len(t.act.mem)) != t.act.written {
		return false, nil
	}
	t.act = nil
	return true, t.unmap()
}

// Close lets go of memory, mapping and file. Entries that were never written are dropped: Seal keeps them. A lookup that
// comes later, from a reader that still holds the segment, opens the file again.
func (t *table) Close() error {
	t.disk.Lock()
	defer t.disk.Unlock()
	var err error
	if t.found {
		err = t.syncFound()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err = errors.Join(err, t.unmap())
	a := t.act
	if a == nil {
		return err
	}
	if a.file != nil { // never close what is not flushed: the kernel may forget its error
		err = errors.Join(err, t.sync(a))
	}
	if a.file != nil { // it has told its error
		err = errors.Join(err, a.file.Close())
	}
	t.act, t.n = nil, int32(a.written/int64(t.width))
	if t.n > 0 {
		copy(t.last[:], a.mem[a.written-int64(t.width):a.written])
	}
	return err
}

// Renamed says that the file is called name from now on.
func (t *table) Renamed(name string) {
	t.disk.Lock()
	defer t.disk.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name = name
}
