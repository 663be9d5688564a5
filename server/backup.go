package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/control"
	"github.com/zurau/zurau/server/logdir"
)

// BackupOptions says how the backup of a broker is made.
type BackupOptions struct {
	// To is where the backup of each log directory is to be, in the order of Dirs; nothing must be there. On the same file system as the
	// directory its segments are shared and not copied: see engine.Engine.Backup.
	To []string
	// NoLinks and SkipOffline are those of engine.BackupOptions. With SkipOffline a directory that is offline is left out, too.
	NoLinks, SkipOffline bool
	// Progress, if it is not nil, is told how many bytes are done, of about how many. It may be called from several goroutines at once.
	Progress control.Progress
}

// Backup makes a backup of all log directories, and of the metadata, from which a broker can be started. The broker goes on meanwhile.
// All that was acknowledged before the call is in it; no group's offset in it lies behind the end of a log, and its metadata knows all topics and
// producers that its logs do. After an error nothing is left; a kill leaves folders on which no
// broker starts (engine.Unfinished).
//
// One is made at a time.
func (s *Server) Backup(ctx context.Context, o BackupOptions) ([]control.Backup, error) {
	dirs := s.dirs.All()
	if err := checkPlacesOfBackup(dirs, o); err != nil {
		return nil, err
	}
	if !s.backup.TryLock() {
		return nil, errors.New("a backup of this broker is being made already")
	}
	defer s.backup.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var online []int
	for i, d := range dirs {
		if d.Err() == nil {
			online = append(online, i)
		}
	}
	internal, logs := newMeeting(len(online)), newMeeting(len(online))
	tell := progressOf(dirs, o.Progress)
	told := make([]control.Backup, len(dirs))
	for i, d := range dirs {
		told[i] = control.Backup{Path: o.To[i], Missing: fmt.Sprint(d.Err())}
	}
	made := make([]bool, len(dirs))
	var making sync.WaitGroup
	for _, i := range online {
		making.Go(func() {
			b, err := dirs[i].Engine().Backup(ctx, o.To[i], engine.BackupOptions{
				NoLinks: o.NoLinks, SkipOffline: o.SkipOffline, Progress: tell,
				AfterInternal: func() error { return internal.wait(ctx) },
				AfterLogs: func(to string) error {
					if err := logs.wait(ctx); err != nil {
						return err
					}
					return s.backupBeside(dirs[i], to)
				},
			})
			if err != nil {
				cancel(err)
				return
			}
			told[i], made[i] = control.BackupOf(o.To[i], b), true
		})
	}
	making.Wait()
	if err := context.Cause(ctx); err != nil {
		for i := range made {
			if made[i] {
				err = errors.Join(err, os.RemoveAll(o.To[i]))
			}
		}
		return nil, err
	}
	return told, nil
}

// backupBeside adds what is beside the logs. The metadata comes last of all: it must know what the logs have, and what it has more (a topic without
// a log, an id of a producer that has sent nothing) is as after a start.
func (s *Server) backupBeside(d *logdir.Dir, to string) error {
	if d.Path() == s.metaDir {
		if err := s.meta.Backup(to); err != nil {
			return err
		}
	}
	return noteStarted(to, s.meta.Image().ClusterID)
}

// checkPlacesOfBackup refuses a backup that cannot be made, before anything is.
func checkPlacesOfBackup(dirs []*logdir.Dir, o BackupOptions) error {
	if len(o.To) != len(dirs) {
		return fmt.Errorf("%d places for a backup of %d log directories: expected one for each", len(o.To), len(dirs))
	}
	seen := map[string]bool{}
	for _, to := range o.To {
		if to = filepath.Clean(to); seen[to] {
			return fmt.Errorf("backup to %s: it is given twice", to)
		}
		seen[to] = true
		for _, d := range dirs {
			if rel, err := filepath.Rel(d.Path(), to); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return fmt.Errorf("backup to %s: it lies within the log directory %s", to, d.Path())
			}
		}
	}
	for _, d := range dirs {
		if err := d.Err(); err != nil && !o.SkipOffline {
			return fmt.Errorf("backup of log directory %s, which is offline: %w", d.Path(), err)
		}
	}
	return nil
}

// progressOf returns what engines tell their bytes, for who wants to know of all of them.
func progressOf(dirs []*logdir.Dir, progress control.Progress) func(int64) {
	if progress == nil {
		return nil
	}
	var total int64
	for _, d := range dirs {
		for _, l := range d.Logs() {
			total += l.Size()
		}
	}
	var done atomic.Int64
	return func(n int64) { progress(min(done.Add(n), total), total) } // the small files are not counted
}

// A meeting is where some wait for each other.
type meeting struct {
	missing atomic.Int32
	all     chan struct{}
}

func newMeeting(n int) *meeting {
	m := &meeting{all: make(chan struct{})}
	m.missing.Store(int32(n))
	return m
}

// wait returns when all have come, or ctx has ended.
func (m *meeting) wait(ctx context.Context) error {
	if m.missing.Add(-1) == 0 {
		close(m.all)
	}
	select {
	case <-m.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listenForCommands has the commands of this machine answered. A broker goes on without.
func (s *Server) listenForCommands() {
	var err error
	if s.control, err = control.Listen(s.metaDir, control.Broker{Backup: s.askedBackup, Log: s.log}); err != nil {
		s.log.Warn("zurau log backup will not find this broker: its socket cannot be made", "error", err)
	}
}

// askedBackup is Backup for a command, which has to name all directories of the broker, and is answered in its own order of them.
func (s *Server) askedBackup(ctx context.Context, r control.BackupRequest, progress control.Progress) ([]control.Backup, error) {
	o := BackupOptions{To: make([]string, len(s.cfg.LogDirs)), NoLinks: r.NoLinks, SkipOffline: r.SkipOffline, Progress: progress}
	asked := make([]int, len(s.cfg.LogDirs))
	for i, dir := range s.cfg.LogDirs {
		at := slices.IndexFunc(r.From, func(from string) bool { return sameDir(from, dir) })
		if at < 0 || len(r.From) != len(s.cfg.LogDirs) || len(r.To) != len(r.From) {
			return nil, fmt.Errorf("this broker has the log directories %s: name all of them, and a place for each, with commas between",
				strings.Join(s.cfg.LogDirs, ","))
		}
		o.To[i], asked[i] = r.To[at], at
	}
	s.log.Info("making a backup", "to", strings.Join(o.To, ","))
	made, err := s.Backup(ctx, o)
	if err != nil {
		s.log.Warn("the backup was not made", "to", strings.Join(o.To, ","), "error", err)
		return nil, err
	}
	s.log.Info("the backup is made", "to", strings.Join(o.To, ","))
	told := make([]control.Backup, len(made))
	for i, at := range asked {
		told[at] = made[i]
	}
	return told, nil
}

// sameDir reports whether two paths name one directory. One whose disk is gone has no other name than its own.
func sameDir(a, b string) bool {
	one, err := os.Stat(a)
	two, other := os.Stat(b)
	if err == nil && other == nil {
		return os.SameFile(one, two)
	}
	absolute, err := filepath.Abs(b)
	return err == nil && a == absolute
}
