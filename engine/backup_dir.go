package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
)

// directory copies a directory that nobody has open.
func (b *backup) directory() error {
	entries, err := b.fs.ReadDir(b.from)
	if err != nil {
		return err
	}
	ours := func(entry os.DirEntry) bool {
		_, isLog := ParseName(entry.Name())
		return isLog && entry.IsDir() || entry.Name() == checkpoint.MetaName || entry.Name() == checkpoint.RecoveryPoints
	}
	if !slices.ContainsFunc(entries, ours) {
		return fmt.Errorf("%s is no log directory: it has no log, no %s and no %s", b.from, checkpoint.MetaName, checkpoint.RecoveryPoints)
	}
	for _, entry := range entries {
		name := entry.Name()
		_, isLog := ParseName(name)
		switch {
		case entry.IsDir() && (isLog || name == metadataTopic+"-0"):
			err = b.folder(name, isLog)
		case entry.IsDir(): // what a start would remove, or has set aside
		case strings.HasSuffix(name, ".lock") || passing(name):
		default:
			err = b.file(b.from, b.to+incomplete, entry, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passing reports whether a file is one that a start removes.
func passing(name string) bool {
	if strings.HasSuffix(name, guard.Suffix) {
		return false
	}
	return strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, segment.DeletedSuffix) || strings.HasSuffix(name, segment.CopySuffix)
}

// folder copies a log's folder. In a log the files of sealed segments are written by nobody: Kafka's metadata log is its
// controller's.
func (b *backup) folder(name string, isLog bool) error {
	from, to := filepath.Join(b.from, name), filepath.Join(b.to+incomplete, name)
	entries, err := b.fs.ReadDir(from)
	if err != nil {
		return err
	}
	if err := b.fs.MkdirAll(to); err != nil {
		return err
	}
	newest := ""
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), segment.LogSuffix) {
			newest = entry.Name() // in the order of their names
		}
	}
	for _, entry := range entries {
		if passing(entry.Name()) {
			continue
		}
		sealed := isLog && strings.HasSuffix(entry.Name(), segment.LogSuffix) && entry.Name() != newest
		if err := b.file(from, to, entry, sealed); err != nil {
			return err
		}
	}
	return b.fs.SyncDir(to)
}

func (b *backup) file(from, to string, entry os.DirEntry, sealed bool) error {
	name := filepath.Join(from, entry.Name())
	if !entry.Type().IsRegular() {
		return fmt.Errorf("%s is no file", name)
	}
	info, err := b.fs.Stat(name)
	if err != nil {
		return err
	}
	return b.duplicate(name, filepath.Join(to, entry.Name()), info.Size(), sealed)
}

// Link, Names and Reflink make a patient file system an fs.Linker where the one below is.

func (p patient) linker() (fs.Linker, error) {
	if l, ok := p.FS.(fs.Linker); ok {
		return l, nil
	}
	return nil, fs.ErrUnsupported
}

func (p patient) Link(from, to string) error {
	l, err := p.linker()
	if err != nil {
		return err
	}
	return l.Link(from, to)
}

func (p patient) Names(name string) (int, error) {
	l, err := p.linker()
	if err != nil {
		return 0, err
	}
	return l.Names(name)
}

func (p patient) Reflink(from, to string) error {
	l, err := p.linker()
	if err != nil {
		return err
	}
	return l.Reflink(from, to)
}
