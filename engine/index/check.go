package index

import (
	"fmt"
	"os"

	"github.com/zurau/zurau/engine/fs"
)

// checkChunk is how much of a file Check reads at a time, in bytes: a multiple of both widths.
const checkChunk = 48 << 10

// check calls wrong for each entry, in order, and returns an ErrCorrupt with what it says, if anything.
func (t *table) check(wrong func(key, value int64) string) error {
	t.disk.Lock() // so that nothing is cut meanwhile
	defer t.disk.Unlock()
	t.mu.RLock()
	a := t.act
	var mem []byte
	if a != nil {
		mem = a.mem
	}
	t.mu.RUnlock()
	if a != nil {
		return t.checkEntries(mem, 0, wrong)
	}
	if t.size <= 0 {
		return nil
	}
	if t.size%int64(t.width) != 0 || t.size > 1<<31-1 {
		return fmt.Errorf("%w: %s has %d bytes, not a multiple of %d below 2 GiB", ErrCorrupt, t.name, t.size, t.width)
	}
	f, err := t.fsys.Open(t.name, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open index: %w", lost(err))
	}
	defer f.Close()
	return t.checkFile(f, wrong)
}

func (t *table) checkFile(f fs.File, wrong func(key, value int64) string) error {
	buf := make([]byte, min(t.size, checkChunk))
	for at := int64(0); at < t.size; at += int64(len(buf)) {
		chunk := buf[:min(int64(len(buf)), t.size-at)]
		if err := readFull(f, chunk, at); err != nil {
			return fmt.Errorf("read %d bytes of %s at %d: %w", len(chunk), t.name, at, lost(err))
		}
		if err := t.checkEntries(chunk, at, wrong); err != nil {
			return err
		}
	}
	return nil
}

// checkEntries checks the entries in b, which stand at position at of the file.
func (t *table) checkEntries(b []byte, at int64, wrong func(key, value int64) string) error {
	w := int(t.width)
	for i := 0; i < len(b); i += w {
		k, v := key(b[i:i+w]), int64(value(b[i:i+w]))
		if s := wrong(k, v); s != "" {
			return fmt.Errorf("%w: %s has %d, %d at position %d: %s", ErrCorrupt, t.name, k, v, at+int64(i), s)
		}
	}
	return nil
}
