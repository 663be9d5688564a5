package guard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// maxFile bounds what is read of one file: the slots of a segment of 2 GiB, with many times as many for short pieces.
const maxFile = 64 << 20

// Name returns the name of a guard in a log's folder.
func Name(dir string, base int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", base, Suffix))
}

// Read reads a guard. Where there is none it is empty; one that cannot be read is an error, since it may say what no guard does not.
func Read(fsys fs.FS, dir string, base int64) (g Guard, err error) {
	f, err := fsys.Open(Name(dir, base), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return g, err
	}
	b := make([]byte, min(size, maxFile))
	if n, err := f.ReadAt(b, 0); n < len(b) { // a part of it must not be taken for all
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: %d of %d bytes: %w", Name(dir, base), n, len(b), io.ErrUnexpectedEOF)
		}
		return g, err
	}
	return Decode(b, base), nil
}

// Write writes the slots of pieces from number slot on, or behind what is there where that is negative, and returns the number that it
// began with. It does not flush them.
func Write(fsys fs.FS, dir string, base int64, slot int64, pieces []Piece) (_ int64, err error) {
	f, err := fsys.Open(Name(dir, base), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return slot, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if slot < 0 {
		size, err := f.Size()
		if err != nil {
			return slot, err
		}
		slot = (size + Width - 1) / Width
	}
	return slot, f.Write(Encode(base, pieces), slot*Width, false)
}

// Cut removes the slots of a guard, as it was read, that cover anything behind a position, durably. It reports whether there was one.
func Cut(fsys fs.FS, dir string, base int64, g Guard, position int64) (cut bool, err error) {
	if g.End() <= position && g.Bad == 0 {
		return false, nil
	}
	var kept []Piece
	for _, p := range g.Pieces {
		if p.End <= position {
			kept = append(kept, p)
		}
	}
	f, err := fsys.Open(Name(dir, base), os.O_RDWR)
	if err != nil {
		return false, err
	}
	err = f.Truncate(0)
	if err == nil && len(kept) > 0 {
		err = f.Write(Encode(base, kept), 0, false)
	}
	if err == nil {
		err = f.Datasync()
	}
	return true, errors.Join(err, f.Close())
}
