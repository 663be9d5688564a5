package server

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
)

// A place is a log directory before its logs are opened.
type place struct {
	path string
	meta checkpoint.Meta // zero where there is none
	id   metadata.ID     // drawn where meta has none
	err  error           // why it cannot be used
}

// openDirs opens the log directories: makes those that are not there, reads whose they are, and recovers their logs. One that cannot
// be used, because its disk is gone or read-only, is offline from the start, as in Apache Kafka; but what says that an operator is about to
// do something wrong (a directory in use, of another node or cluster, twice) stops the start. It returns the configuration with the node id
// that the directories have, where none was set.
func (s *Server) openDirs(static *config.Static) (*config.Static, error) {
	places, err := survey(s.cfg.LogDirs)
	if err != nil {
		return nil, err
	}
	if static, err = s.checkPlaces(places, static); err != nil {
		return nil, err
	}
	if s.metaDir, err = s.metadataDir(places); err != nil {
		return nil, err
	}
	s.openAs = s.opener(static)
	dirs := make([]*logdir.Dir, len(places))
	fatal := make([]error, len(places))
	var opening sync.WaitGroup
	for i := range places {
		opening.Go(func() { dirs[i], fatal[i] = s.openDir(i, places) })
	}
	opening.Wait()
	s.dirs = logdir.New(dirs...)
	if err := errors.Join(fatal...); err != nil {
		return nil, err
	}
	return static, s.checkTwice()
}

// survey looks at the directories without their locks: nothing is written yet but the directories themselves.
func survey(paths []string) ([]place, error) {
	places := make([]place, len(paths))
	real := map[string]string{}
	for i, path := range paths {
		p := &places[i]
		p.path = path
		if err := finished(path); err != nil {
			return nil, err
		}
		if p.err = makeDir(fs.OS(), path); p.err == nil {
			p.meta, p.err = checkpoint.ReadMeta(fs.OS(), path)
		}
		if errors.Is(p.err, os.ErrNotExist) {
			p.err = nil
		}
		if p.err != nil && !unusable(p.err) {
			return nil, fmt.Errorf("log directory %s: %w", path, p.err)
		}
		at, err := filepath.EvalSymlinks(path)
		if other := real[at]; err == nil && other != "" {
			return nil, fmt.Errorf("log.dirs: %s and %s are the same directory", other, path)
		}
		real[at] = path
		if p.id = metadata.ID(p.meta.DirectoryID); p.id.IsZero() {
			if p.id, err = metadata.NewID(random{}); err != nil {
				return nil, err
			}
		}
	}
	return places, nil
}

// finished refuses a directory that a backup has left which was not finished, and one that is not there because of that.
func finished(path string) error {
	begun := filepath.Clean(path)
	if _, err := os.Stat(begun); errors.Is(err, os.ErrNotExist) {
		begun += engine.Incomplete
	}
	if _, err := os.Stat(filepath.Join(begun, engine.Unfinished)); err != nil {
		return nil
	}
	return fmt.Errorf("log directory %s: %s is %w", path, begun, engine.ErrUnfinished)
}

// unusable reports whether an error is one of the file system, which takes a directory offline, and not of what is in it.
func unusable(err error) bool {
	var path *os.PathError
	var link *os.LinkError
	return (errors.As(err, &path) || errors.As(err, &link)) && !errors.Is(err, fs.ErrLocked)
}

// checkPlaces refuses directories of another node, of different clusters, and copies.
func (s *Server) checkPlaces(places []place, static *config.Static) (*config.Static, error) {
	cluster, clusterAt, ids := "", "", map[metadata.ID]string{}
	for _, p := range places {
		if p.err != nil || p.meta == (checkpoint.Meta{}) {
			continue
		}
		name := filepath.Join(p.path, checkpoint.MetaName)
		if len(ids) == 0 {
			static = s.nodeOf(static, p.meta.NodeID, name)
		}
		if p.meta.NodeID != s.cfg.NodeID {
			return nil, fmt.Errorf("%s is of node.id %d, and this broker is %d", name, p.meta.NodeID, s.cfg.NodeID)
		}
		if other := ids[p.id]; other != "" {
			return nil, fmt.Errorf("%s and %s have the same directory.id: expected one directory, and no copy of it", other, name)
		}
		ids[p.id] = name
		if cluster != "" && p.meta.ClusterID != "" && p.meta.ClusterID != cluster {
			return nil, fmt.Errorf("%s is of cluster %s, and %s of cluster %s: expected directories of one cluster", clusterAt, cluster, name, p.meta.ClusterID)
		}
		if p.meta.ClusterID != "" {
			cluster, clusterAt = p.meta.ClusterID, name
		}
	}
	return static, nil
}

// metadataDir returns the directory of the metadata: where it is, else metadata.log.dir where that is a log directory, else the first.
func (s *Server) metadataDir(places []place) (string, error) {
	dir, found := places[0].path, false
	if slices.Contains(s.cfg.LogDirs, s.cfg.MetadataDir) {
		dir = s.cfg.MetadataDir
	}
	for _, p := range places {
		switch {
		case !metadata.Present(fs.OS(), p.path):
			continue
		case found:
			return "", fmt.Errorf("log.dirs: %s and %s both have metadata (zurau-metadata.*): expected one that has", dir, p.path)
		case s.cfg.MetadataDir == dir && p.path != dir:
			return "", fmt.Errorf("metadata.log.dir: %s, and the metadata (zurau-metadata.*) is in %s: expected that directory", dir, p.path)
		}
		dir, found = p.path, true
	}
	i := slices.IndexFunc(places, func(p place) bool { return p.path == dir })
	if err := places[i].err; err != nil {
		return "", fmt.Errorf("log directory %s, of the metadata: %w", dir, err)
	}
	return dir, nil
}

// openDir opens the logs of a directory. An error stops the start.
func (s *Server) openDir(i int, places []place) (*logdir.Dir, error) {
	p := places[i]
	err := p.err
	if err == nil {
		var d *logdir.Dir
		if d, err = logdir.Open(p.id, s.engineOptions(i, places)); err == nil {
			return d, nil
		}
	}
	d := logdir.Absent(p.path, p.id, err)
	if p.path == s.metaDir || !unusable(err) {
		return d, err
	}
	s.log.Error("a log directory cannot be used: its partitions are offline, and the others go on", "dir", p.path, "error", err,
		"do", "bring the disk back and start again; or take the directory out of log.dirs and delete the topics that it had")
	return d, nil
}

func (s *Server) engineOptions(i int, places []place) engine.Options {
	e, n := s.cfg.Engine, len(places)
	var hooks engine.Metrics
	if s.cfg.MetricsListener != "" {
		hooks = s.storage.Hooks()
	}
	return engine.Options{
		Metrics:              hooks,
		Dir:                  places[i].path,
		Logger:               s.log,
		OnAdvance:            partition.Advanced,
		OnFailure:            func(error) { s.failures <- i },
		LogConfig:            s.openAs,
		MemoryBytes:          memoryBudget(e.MemoryBytes) / 2 / int64(n),
		Descriptors:          logDescriptors(n),
		SyncMethod:           syncMethod(e.SyncMethod),
		ReserveBytes:         max(e.ReserveBytes, 1),
		SpaceSharers:         sharers(i, places),
		ZeroAheadBytes:       orNever(e.ZeroAheadBytes / int64(n)),
		StageBytes:           orNever(e.StageBytes / int64(n)),
		NoRing:               e.Ring == "off",
		ScrubBytesPerSecond:  orNever(e.ScrubBytesPerSecond),
		ScrubInterval:        time.Duration(min(e.ScrubIntervalMs, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond,
		RetentionInterval:    time.Duration(s.cfg.Logs.RetentionCheckMs) * time.Millisecond,
		ProducerIDExpiration: time.Duration(s.cfg.Logs.ProducerIDExpirationMs) * time.Millisecond,
	}
}

// sharers counts the log directories on the file system of one of them, itself included.
func sharers(i int, places []place) (n int) {
	var own, other unix.Stat_t
	if unix.Stat(places[i].path, &own) != nil {
		return 1
	}
	for _, p := range places {
		if unix.Stat(p.path, &other) == nil && other.Dev == own.Dev {
			n++
		}
	}
	return n
}

// checkTwice refuses two folders of one partition, as Apache Kafka does: a move between directories was cut off, or somebody has made a
// copy, and which one has the records that were acknowledged last is not known here.
func (s *Server) checkTwice() error {
	type key struct {
		name  engine.Name
		topic [16]byte
	}
	where := map[key]string{}
	var twice []error
	for _, d := range s.dirs.All() {
		for _, l := range d.Logs() {
			k := key{l.Name(), l.TopicID()}
			if other := where[k]; other != "" && len(twice) < 10 {
				twice = append(twice, fmt.Errorf("partition %s is in %s and in %s: expected one folder; move the one that is older away",
					k.name, other, d.Path()))
			}
			where[k] = d.Path()
		}
	}
	return errors.Join(twice...)
}

// writeMetas says in each directory whose it is now, and that it was used. A directory of another cluster is refused: its metadata
// was lost, or was never here, and with it all that is known about the logs.
func (s *Server) writeMetas() error {
	cluster := s.meta.Image().ClusterID
	for _, d := range s.dirs.Online() {
		m := checkpoint.Meta{ClusterID: cluster, NodeID: s.cfg.NodeID, DirectoryID: checkpoint.ID(d.ID())}
		old, err := checkpoint.ReadMeta(fs.OS(), d.Path())
		if err == nil && old.ClusterID != "" && old.ClusterID != cluster {
			return s.ofAnotherCluster(d, old.ClusterID)
		}
		if err != nil || old != m {
			if err := checkpoint.WriteMeta(fs.OS(), d.Path(), m, time.Now()); err != nil {
				return err
			}
		}
		if err := noteStarted(d.Path(), cluster); err != nil {
			return err
		}
	}
	return nil
}

// checkMetadata refuses to begin new metadata beside logs whose own was lost, or is in a directory that is offline or not among log.dirs. It comes
// before there is any: what a start leaves that was refused would be taken for the metadata by the next one.
func (s *Server) checkMetadata() error {
	if metadata.Present(fs.OS(), s.metaDir) {
		return nil
	}
	if err := s.allUsable(); err != nil {
		return err
	}
	for _, d := range s.dirs.All() {
		m, err := checkpoint.ReadMeta(fs.OS(), d.Path())
		if err == nil && m.ClusterID != "" && startedBefore(d.Path()) {
			return s.withoutMetadata(d, fmt.Sprintf("is of cluster %s, and its metadata (zurau-metadata.*) is in none of log.dirs", m.ClusterID))
		}
	}
	return nil
}

func (s *Server) ofAnotherCluster(d *logdir.Dir, cluster string) error {
	beside := "beside it"
	if d.Path() != s.metaDir {
		beside = "in " + s.metaDir
	}
	return s.withoutMetadata(d, fmt.Sprintf("is of cluster %s, and the metadata %s is of cluster %s and knows none of the other's topics",
		cluster, beside, s.meta.Image().ClusterID))
}

func (s *Server) withoutMetadata(d *logdir.Dir, what string) error {
	name := filepath.Join(d.Path(), checkpoint.MetaName)
	return fmt.Errorf("%s %s: expected the metadata that was written with these logs; to have topics adopted from the folders of their partitions instead, "+
		"with all of their records kept, remove zurau-metadata.* and %s; to give them up, remove %s", name, what, startedName, name)
}

// identify gives the directory of the metadata the id that it had, where it has lost the file that says so: partitions that have no
// folder yet are in it by that id alone.
func (s *Server) identify() {
	d := s.dirs.All()[s.metaIndex()]
	b, ok := s.meta.Image().Broker(s.cfg.NodeID)
	m, err := checkpoint.ReadMeta(fs.OS(), d.Path())
	if !ok || err == nil && m.DirectoryID != (checkpoint.ID{}) || slices.Contains(b.Directories, d.ID()) {
		return
	}
	missing := slices.DeleteFunc(slices.Clone(b.Directories), func(id metadata.ID) bool { return s.dirs.ByID(id) != nil })
	if len(missing) == 1 {
		d.Identify(missing[0])
	}
}

func (s *Server) metaIndex() int { return slices.Index(s.cfg.LogDirs, s.metaDir) }

// tellLost names what the broker had at its last start and has not now: most often a disk that is not mounted, whose mount point is
// taken for a new and empty directory.
func (s *Server) tellLost() {
	b, _ := s.meta.Image().Broker(s.cfg.NodeID)
	var lost, fresh []string
	for _, id := range b.Directories {
		if s.dirs.ByID(id) == nil {
			lost = append(lost, id.String())
		}
	}
	for _, d := range s.dirs.Online() {
		if !slices.Contains(b.Directories, d.ID()) {
			fresh = append(fresh, d.Path())
		}
	}
	if len(lost) > 0 && len(s.dirs.Online()) == len(s.dirs.All()) {
		s.log.Error("log directories of the last start are not among log.dirs now; is a disk not mounted?",
			"directory.id", strings.Join(lost, ","), "new", strings.Join(fresh, ","))
	}
}

// closeDirs closes the logs. What a directory that had failed before says of its end is nothing new, where the broker went on without it.
func (s *Server) closeDirs() error {
	if s.dirs == nil {
		return nil
	}
	dirs := s.dirs.All()
	errs := make([]error, len(dirs))
	ended := s.failure() != nil
	var closing sync.WaitGroup
	for i, d := range dirs {
		failed := d.Err() != nil
		closing.Go(func() {
			if err := d.Close(); !failed || ended {
				errs[i] = err
			}
		})
	}
	closing.Wait()
	return errors.Join(errs...)
}
