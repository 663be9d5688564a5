package logfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/segment"
	"github.com/zurau/zurau/replication/metadata"
)

// work is a repair under way.
type work struct {
	fs         fs.FS
	root, keep string
	made       map[string]bool // directories below keep
	progress   func(int64)
}

// Apply does the steps: first it copies all that goes, then it makes the changes, one after the other. done, if not nil,
// is told of each that is durable.
func (p *Plan) Apply(done func(Step)) error {
	w := &work{fs: p.r.FS, root: p.Root, keep: p.Keep, made: map[string]bool{}, progress: p.r.Progress}
	if len(p.Steps) == 0 {
		return nil
	}
	report := ""
	for i, s := range p.Steps {
		report += fmt.Sprintf("%d. %s\n", i+1, s)
		if p.r.Stop != nil {
			if err := p.r.Stop(); err != nil {
				return fmt.Errorf("nothing was changed: %w", err)
			}
		}
		if err := s.keep(w); err != nil {
			return fmt.Errorf("nothing was changed: keep what step %d removes: %w", i+1, err)
		}
	}
	if err := w.write(filepath.Join(p.Keep, "REPAIR.txt"), func(f fs.File) error { return f.Write([]byte(report), 0, false) }); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	for i, s := range p.Steps {
		if err := s.change(w); err != nil {
			return fmt.Errorf("step %d of %d (%s): %w; what was removed is in %s, and the repair may be called again", i+1, len(p.Steps), s, err, p.Keep)
		}
		if done != nil {
			done(s)
		}
	}
	return nil
}

// mkdir makes a directory and its parents, durably.
func (w *work) mkdir(dir string) error {
	if w.made[dir] {
		return nil
	}
	if _, err := w.fs.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := w.mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := w.fs.MkdirAll(dir); err != nil {
			return err
		}
		if err := w.fs.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	w.made[dir] = true
	return nil
}

// write makes a file, durably, name included.
func (w *work) write(name string, fill func(fs.File) error) error {
	if err := w.mkdir(filepath.Dir(name)); err != nil {
		return err
	}
	f, err := w.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		err = f.Datasync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return w.fs.SyncDir(filepath.Dir(name))
}

// kept returns where a file of the log directory is kept.
func (w *work) kept(path string) (string, error) {
	rel, err := filepath.Rel(w.root, path)
	return filepath.Join(w.keep, rel), err
}

// keepRange copies bytes of a file.
func (w *work) keepRange(path string, at, end int64) error {
	name, err := w.kept(path)
	if err != nil || at == end {
		return err
	}
	return w.write(fmt.Sprintf("%s.at-%d", name, at), func(to fs.File) error { return w.copy(to, 0, path, at, end) })
}

func (w *work) copy(to fs.File, pos int64, path string, at, end int64) (err error) {
	from, err := w.fs.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	buf := make([]byte, min(end-at, 1<<20))
	for at < end {
		n := min(int64(len(buf)), end-at)
		if m, err := from.ReadAt(buf[:n], at); int64(m) < n {
			return errors.Join(fmt.Errorf("%s ends at position %d: %w", path, at+int64(m), io.ErrUnexpectedEOF), err)
		}
		if err := to.Write(buf[:n], pos, false); err != nil {
			return err
		}
		if w.progress != nil {
			w.progress(n)
		}
		at, pos = at+n, pos+n
	}
	return nil
}

// keepIfThere copies a file.
func (w *work) keepIfThere(path string) error {
	info, err := w.fs.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := w.kept(path)
	if err != nil {
		return err
	}
	return w.write(name, func(to fs.File) error { return w.copy(to, 0, path, 0, info.Size()) })
}

// keepAll copies a file, or a folder with what is in it.
func (w *work) keepAll(path string) error {
	info, err := w.fs.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return w.keepIfThere(path)
	}
	name, err := w.kept(path)
	if err != nil {
		return err
	}
	if err := w.mkdir(name); err != nil {
		return err
	}
	entries, err := w.fs.ReadDir(path)
	for _, e := range entries {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			err = fmt.Errorf("%s is neither a file nor a folder: set it aside by hand", filepath.Join(path, e.Name()))
		}
		if err == nil {
			err = w.keepAll(filepath.Join(path, e.Name()))
		}
	}
	return err
}

func (w *work) keepIndexes(log string) error {
	stem := log[:len(log)-len(".log")]
	return errors.Join(w.keepIfThere(stem+".index"), w.keepIfThere(stem+".timeindex"), w.keepIfThere(stem+guard.Suffix))
}

// remove removes files, and folders with what is in them, durably. What is not there is as if removed.
func (w *work) remove(paths ...string) error {
	for _, path := range paths {
		info, err := w.fs.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && info.IsDir() {
			var entries []os.DirEntry
			entries, err = w.fs.ReadDir(path)
			for _, e := range entries {
				err = errors.Join(err, w.remove(filepath.Join(path, e.Name())))
			}
		}
		if err != nil {
			return err
		}
		if err := w.fs.Remove(path); err != nil {
			return err
		}
	}
	return w.fs.SyncDir(filepath.Dir(paths[0]))
}

// cleanedSuffix is of a file that a start removes.
const cleanedSuffix = ".cleaned"

// rewrite puts parts of a segment in its place, and makes its indexes again. A crash leaves the old file or the new one, without a
// guard: that would say that the new one is not what it was.
func (w *work) rewrite(path string, parts []part) error {
	if err := w.remove(path[:len(path)-len(".log")] + guard.Suffix); err != nil {
		return err
	}
	err := w.write(path+cleanedSuffix, func(to fs.File) error {
		pos := int64(0)
		for _, x := range parts {
			if x.empty != nil {
				if err := to.Write(x.empty, pos, false); err != nil {
					return err
				}
				pos += int64(len(x.empty))
				continue
			}
			from := path
			if x.file != "" {
				from = x.file
			}
			if err := w.copy(to, pos, from, x.at, x.end); err != nil {
				return err
			}
			pos += x.end - x.at
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.fs.Rename(path+cleanedSuffix, path); err != nil {
		return err
	}
	if err := w.fs.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	return w.rebuild(path)
}

// indexBytes is segment.index.bytes by default, and no limit for what a segment needs at the default interval.
const indexBytes = math.MaxInt32

// interval is index.interval.bytes of the topic that a log is of, as far as the metadata beside it knows.
func (w *work) interval(log string) (int32, error) {
	topic, _, _ := partitionOf(filepath.Dir(log))
	img, err := metadata.Peek(w.fs, w.root)
	if errors.Is(err, metadata.ErrCorrupt) || errors.Is(err, metadata.ErrNewer) {
		return defaultInterval, nil
	}
	if err != nil {
		return 0, err
	}
	set, err := strconv.ParseInt(img.Configs(metadata.ResourceTopic, topic)["index.interval.bytes"], 10, 32)
	if err != nil { // it was not set
		return defaultInterval, nil
	}
	return int32(set), nil
}

// rebuild makes the indexes of a segment again, durably, as the engine does.
func (w *work) rebuild(log string) (err error) {
	_, base := KindOf(log)
	stem := log[:len(log)-len(".log")]
	if err := w.remove(stem+".index", stem+".timeindex"); err != nil {
		return err
	}
	interval, err := w.interval(log)
	if err != nil {
		return err
	}
	s, err := segment.New(w.fs, filepath.Dir(log), base, segment.Limits{Bytes: math.MaxInt32, IndexBytes: indexBytes, IndexInterval: interval})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f, err := s.Acquire()
	if err != nil {
		return err
	}
	defer s.Release()
	size, err := f.Size()
	if err != nil {
		return err
	}
	// What is no batch at the end is for the next start.
	if _, err := s.Rebuild(f, size, interval); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if err := s.SealIndexes(); err != nil {
		return err
	}
	return w.fs.SyncDir(filepath.Dir(log))
}
