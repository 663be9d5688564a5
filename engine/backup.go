package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// BackupOptions says how a backup is made. Its zero value makes one of everything, by the cheapest way that is there.
type BackupOptions struct {
	// NoLinks copies where files cannot share blocks (reflink) instead of giving sealed segments a second name (hard link). Who
	// lets another program than this one write to the backup, or to the directory, wants it: it knows nothing of the links.
	NoLinks bool
	// SkipOffline leaves logs out that are offline. Without it one such log fails the backup, before anything is made.
	SkipOffline bool
	// AfterInternal, if it is not nil, is called when the logs whose topics begin with two underscores are copied, before any other is. Who
	// backs up several engines at once waits in it for all of them: then no group's offset lies behind the end of a log.
	AfterInternal func() error
	// AfterLogs, if it is not nil, is called when all logs are copied, with the folder in which the backup is made: it adds what the caller
	// keeps beside the logs, which then knows of all that they have.
	AfterLogs func(dir string) error
	// Progress, if it is not nil, is told the bytes of each piece that is done, however it was. It may be called from several
	// goroutines at once.
	Progress func(bytes int64)
}

// Backup is what a backup has.
type Backup struct {
	Logs    int
	Records int64            // offsets from the log start to the end, over all logs
	Bytes   map[fs.Way]int64 // of segments and their small files, by how they were made
	Offline []Name           // left out
	// Unclean says that nobody had the directory, and that it had not been stopped in order (BackupDir): the backup has what a start
	// on it would have found.
	Unclean bool
}

// Incomplete ends the name of the folder in which a backup is made.
const Incomplete = ".incomplete"

// Unfinished is a file in a backup until that is made: the first in it, and the last to go. Open refuses a directory that has it.
const Unfinished = "zurau-unfinished"

// Backup makes a directory, which must not be there, with all logs as an orderly stop would leave them: what Kafka and this
// package open. Each log has everything that was appended to it before Backup came to it, and everything is on stable storage when
// it returns without an error. After an error nothing is left; a crash leaves a folder whose name ends in Incomplete, which Open refuses
// under any name (ErrUnfinished), and which the next backup to the same place replaces.
//
// Appends, reads, retention and all else go on meanwhile. Logs are not of one moment; those whose topics begin with two
// underscores come first, so that no group's offset in a backup lies behind the end of a log.
//
// Sealed segments share their blocks with the directory's, where the file system can do that, else they are the same files under a
// second name, else they are copied; the last segment of a log is never linked. An engine copies a file with two names before
// it writes to it, whichever of the two directories it has. Space is used as far as Options.ReserveBytes allows.
//
// ErrOffline is returned for a log that is offline (see SkipOffline), ErrClosed where Close comes in between.
func (e *Engine) Backup(ctx context.Context, dir string, o BackupOptions) (Backup, error) {
	b := &backup{ctx: ctx, fs: e.opt.FS, from: e.opt.Dir, to: dir, opt: o, reserve: e.opt.ReserveBytes}
	for _, l := range e.Logs() {
		if err := l.Err(); err != nil {
			if !o.SkipOffline || e.failed() != nil {
				return Backup{}, fmt.Errorf("backup of %s: %w", l.name, err)
			}
			b.done.Offline = append(b.done.Offline, l.name)
		}
	}
	return b.make(func() error { return b.engine(e) })
}

// BackupDir is Engine.Backup for a directory that nobody has open. The caller holds its lock, if anybody else could take it. The
// directory is left as it is, also where it was not stopped in order: what a start would do to it is done to the backup. What was not
// flushed then is copied and never shared: after a flush that failed, the page cache has what the disk does not.
func BackupDir(ctx context.Context, fsys fs.FS, from, to string, o BackupOptions) (Backup, error) {
	b := &backup{ctx: ctx, fs: fsys, from: from, to: to, opt: o}
	return b.make(b.directory)
}

// A backup is one that is being made.
type backup struct {
	ctx      context.Context
	fs       fs.FS
	from, to string
	opt      BackupOptions
	reserve  int64
	points   map[Name]int64 // up to where logs were flushed, of a directory that nobody has
	bytes    [fs.Copied + 1]atomic.Int64
	done     Backup
}

// make makes the folder under another name, has it filled, has an engine make it whole, and gives it its name.
func (b *backup) make(fill func() error) (_ Backup, err error) {
	b.to = filepath.Clean(b.to)
	if err := b.place(); err != nil {
		return Backup{}, err
	}
	dir := b.to + Incomplete
	if err := b.removeLeft(dir); err != nil {
		return Backup{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("backup of %s: %w", b.from, err), b.remove(dir))
		}
	}()
	if err := b.fs.MkdirAll(dir); err != nil {
		return Backup{}, err
	}
	if err := checkpoint.Replace(b.fs, filepath.Join(dir, Unfinished), []byte("a backup of "+b.from+"\n")); err != nil {
		return Backup{}, err
	}
	if err := fill(); err != nil {
		return Backup{}, err
	}
	if b.opt.AfterLogs != nil {
		if err := b.opt.AfterLogs(dir); err != nil {
			return Backup{}, err
		}
	}
	if err := b.fs.SyncDir(dir); err != nil {
		return Backup{}, err
	}
	if err := b.finish(dir); err != nil {
		return Backup{}, err
	}
	if err := b.fs.Rename(dir, b.to); err != nil {
		return Backup{}, err
	}
	dir = b.to
	if err := b.fs.SyncDir(filepath.Dir(dir)); err != nil {
		return Backup{}, err
	}
	if err := b.fs.Remove(filepath.Join(dir, Unfinished)); err != nil {
		return Backup{}, err
	}
	if err := b.fs.SyncDir(dir); err != nil {
		return Backup{}, err
	}
	b.done.Bytes = map[fs.Way]int64{}
	for w := range b.bytes {
		if n := b.bytes[w].Load(); n > 0 {
			b.done.Bytes[fs.Way(w)] = n
		}
	}
	return b.done, nil
}

// place refuses a place where a backup must not be.
func (b *backup) place() error {
	from, err := filepath.Abs(b.from)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(b.to)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(from, to); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return fmt.Errorf("backup of %s to %s: it lies within the directory, where a start would take it for a log", b.from, b.to)
	}
	if _, err := b.fs.Stat(b.to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("backup to %s: %w", b.to, os.ErrExist), err)
	}
	return nil
}

// removeLeft removes the folder of a backup that was killed. What else has such a name is not ours to remove.
func (b *backup) removeLeft(dir string) error {
	entries, err := b.fs.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ours := func(entry os.DirEntry) bool { return strings.HasPrefix(entry.Name(), Unfinished) } // or what was to become it
	if len(entries) > 0 && !slices.ContainsFunc(entries, ours) {
		return fmt.Errorf("backup to %s: %s is in the way, and is no backup that was not finished: %w", b.to, dir, os.ErrExist)
	}
	return b.remove(dir)
}

// remove removes a folder and what is in it, where it is there.
func (b *backup) remove(dir string) error {
	entries, err := b.fs.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		if entry.IsDir() {
			err = b.remove(name)
		} else {
			err = b.fs.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return b.fs.Remove(dir)
}

// finish has an engine recover the folder and stop in order: what it leaves is consistent by the rules of every start.
func (b *backup) finish(dir string) error {
	e, err := Open(Options{unfinished: true, Dir: dir, FS: b.fs, SyncMethod: SyncFdatasync, StageBytes: -1, CheckpointInterval: -1, RetentionInterval: -1,
		ProducerIDExpiration: math.MaxInt64}) // who opens the backup says which producers are too old
	if err != nil {
		return err
	}
	if err := errors.Join(b.check(e), e.Close()); err != nil {
		return err
	}
	if err := b.fs.Remove(filepath.Join(dir, lockName)); err != nil {
		return err
	}
	return b.fs.SyncDir(dir)
}

// check counts what the backup has, and takes logs out that are offline in it, if that is wanted.
func (b *backup) check(e *Engine) error {
	for _, l := range e.Logs() {
		if err := l.Err(); err != nil {
			if !b.opt.SkipOffline {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			b.done.Offline = append(b.done.Offline, l.name)
			l.SetConfig(Config{DeleteDelay: -1})
			if err := e.Delete(l.name); err != nil {
				return err
			}
			continue
		}
		b.done.Logs++
		b.done.Records += l.LogEndOffset() - l.LogStartOffset()
	}
	return nil
}

// duplicate makes a file of the backup.
func (b *backup) duplicate(from, to string, size int64, share fs.Sharing) error {
	if b.opt.NoLinks {
		share = min(share, fs.Blocks)
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if free, err := b.fs.Free(filepath.Dir(to)); err == nil && free < b.reserve {
		return fmt.Errorf("%d bytes are free where %s is to be, and %d are kept: %w", free, to, b.reserve, ErrNoSpace)
	}
	told := int64(0)
	way, err := fs.Duplicate(b.fs, from, to, size, share, func(n int64) error {
		told += n
		b.tell(n)
		return b.ctx.Err()
	})
	if err != nil {
		return err
	}
	b.tell(size - told)
	b.bytes[way].Add(size)
	return nil
}

func (b *backup) tell(n int64) {
	if b.opt.Progress != nil && n > 0 {
		b.opt.Progress(n)
	}
}

// rootFiles are files beside the logs that are neither an engine's state nor made again by finish, and that a backup has too. The last
// is Kafka's: where its metadata begins.
var rootFiles = []string{checkpoint.MetaName, checkpoint.CleanerOffsets, "bootstrap.checkpoint"}

// there reports whether the directory has a file or folder of that name.
func (b *backup) there(name string) bool {
	_, err := b.fs.Stat(filepath.Join(b.from, name))
	return err == nil
}

// root duplicates a file of the root, where it is there.
func (b *backup) root(name string) error {
	from := filepath.Join(b.from, name)
	info, err := b.fs.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.duplicate(from, filepath.Join(b.to+Incomplete, name), info.Size(), fs.Blocks)
}
