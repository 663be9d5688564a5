package engine

import (
	"errors"
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
	if b.there(Unfinished) {
		return fmt.Errorf("%s: %w", b.from, ErrUnfinished)
	}
	ours := func(entry os.DirEntry) bool {
		_, isLog := ParseName(entry.Name())
		return isLog && entry.IsDir() || entry.Name() == checkpoint.MetaName || entry.Name() == checkpoint.RecoveryPoints
	}
	if !slices.ContainsFunc(entries, ours) {
		return fmt.Errorf("%s is no log directory: it has no log, no %s and no %s", b.from, checkpoint.MetaName, checkpoint.RecoveryPoints)
	}
	if err := b.readPoints(); err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		_, isLog := ParseName(name)
		switch {
		case entry.IsDir() && (isLog || name == metadataTopic+"-0"):
			err = b.folder(name, isLog)
		case entry.IsDir(): // what a start would remove, or has set aside
		case strings.HasSuffix(name, ".lock") || passing(name) || entry.Type() == os.ModeSocket:
		default:
			err = b.file(b.from, b.to+Incomplete, entry, b.atRest())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPoints reads up to where logs were flushed.
func (b *backup) readPoints() error {
	_, clean, err := checkpoint.ReadCleanShutdown(b.fs, b.from)
	if err != nil {
		return err
	}
	b.done.Unclean = !clean
	points, err := checkpoint.ReadOffsets(b.fs, filepath.Join(b.from, checkpoint.RecoveryPoints))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, checkpoint.ErrCorrupt) {
		return err
	}
	b.points = map[Name]int64{}
	for _, p := range points {
		b.points[Name{p.Topic, p.Partition}] = p.Offset
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
	from, to := filepath.Join(b.from, name), filepath.Join(b.to+Incomplete, name)
	entries, err := b.fs.ReadDir(from)
	if err != nil {
		return err
	}
	if err := b.fs.MkdirAll(to); err != nil {
		return err
	}
	share := map[string]fs.Sharing{}
	if isLog {
		share = b.shareable(name, entries)
	}
	for _, entry := range entries {
		if passing(entry.Name()) {
			continue
		}
		how, ok := share[entry.Name()]
		if !ok {
			how = b.atRest()
		}
		if err := b.file(from, to, entry, how); err != nil {
			return err
		}
	}
	return b.fs.SyncDir(to)
}

// shareable says of the log files of a folder, but for the last one, what they may share: nobody writes to them any more, and they were
// flushed up to the recovery point.
func (b *backup) shareable(folder string, entries []os.DirEntry) map[string]fs.Sharing {
	n, _ := ParseName(folder)
	share, last := map[string]fs.Sharing{}, ""
	for _, entry := range entries { // in the order of their offsets
		base, kind, _ := splitName(entry.Name())
		if kind != segment.LogSuffix {
			continue
		}
		if last != "" && (!b.done.Unclean || base <= b.points[n]) {
			share[last] = fs.Names
		}
		last = entry.Name()
	}
	return share
}

// atRest is what files may share that an orderly stop leaves on stable storage.
func (b *backup) atRest() fs.Sharing {
	if b.done.Unclean {
		return fs.Nothing
	}
	return fs.Blocks
}

func (b *backup) file(from, to string, entry os.DirEntry, share fs.Sharing) error {
	name := filepath.Join(from, entry.Name())
	if !entry.Type().IsRegular() {
		return fmt.Errorf("%s is no file", name)
	}
	info, err := b.fs.Stat(name)
	if err != nil {
		return err
	}
	return b.duplicate(name, filepath.Join(to, entry.Name()), info.Size(), share)
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
