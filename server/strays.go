package server

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/server/logdir"
)

// straySuffix ends the name of a partition folder that a broker has set aside, NAME.HEX-stray, because it knows no topic of
// its id.
const straySuffix = "-stray"

// A stray is a folder that was set aside, and the directory that it is in.
type stray struct {
	dir    *logdir.Dir
	folder string
}

// takeBack gives folders their names back that Apache Kafka has set aside while it had the directory: they are of topics
// that were made here, which Kafka does not know and this broker does. Without that an empty log would take the place of
// their records. The engines, which have the directories, are opened again for it.
func (s *Server) takeBack() error {
	strays, err := s.strays()
	if err != nil {
		return err
	}
	for _, d := range s.dirs.Online() {
		if err := s.takeBackIn(d, strays); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) takeBackIn(d *logdir.Dir, strays map[engine.Name]stray) error {
	if !slices.ContainsFunc(slices.Collect(maps.Values(strays)), func(one stray) bool { return one.dir == d }) {
		return nil
	}
	return d.Renew(func() error {
		for n, one := range strays {
			if one.dir != d {
				continue
			}
			if err := fs.OS().Rename(filepath.Join(d.Path(), one.folder), filepath.Join(d.Path(), n.String())); err != nil {
				return fmt.Errorf("take back %s: %w", one.folder, err)
			}
			s.log.Info("took back the folder of a partition that was set aside: its topic is known here", "partition", n, "folder", one.folder)
		}
		if err := fs.OS().SyncDir(d.Path()); err != nil {
			return fmt.Errorf("take back what was set aside in %s: %w", d.Path(), err)
		}
		return nil
	})
}

// strays finds the folders that are to be taken back: set aside, of the id of a topic that there is or of none, without a log in
// their place. Of two for one partition neither is taken: which one has its records is not known.
func (s *Server) strays() (map[engine.Name]stray, error) {
	found, twice := map[engine.Name]stray{}, map[engine.Name]bool{}
	for _, d := range s.dirs.Online() {
		entries, err := fs.OS().ReadDir(d.Path())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			n, ok := strayOf(e.Name())
			if !ok || !e.IsDir() || !s.misses(n, filepath.Join(d.Path(), e.Name())) {
				continue
			}
			if other, ok := found[n]; ok {
				twice[n] = true
				s.log.Error("two folders of one partition were set aside, and neither is taken back: give one of them the partition's name",
					"partition", n, "one", filepath.Join(other.dir.Path(), other.folder), "other", filepath.Join(d.Path(), e.Name()))
			}
			found[n] = stray{d, e.Name()}
		}
	}
	for n := range twice {
		delete(found, n)
	}
	return found, nil
}

// strayOf returns the partition whose folder was set aside under a name.
func strayOf(folder string) (engine.Name, bool) {
	name, ok := strings.CutSuffix(folder, straySuffix)
	dot := strings.LastIndexByte(name, '.')
	if !ok || dot < 0 {
		return engine.Name{}, false
	}
	return engine.ParseName(name[:dot])
}

// misses reports whether a partition has a topic of the id that a folder says, is led here, and has no log.
func (s *Server) misses(n engine.Name, folder string) bool {
	t, ok := s.meta.Image().Topic(n.Topic)
	if !ok {
		return false
	}
	p, ok := t.Partition(n.Partition)
	has := slices.ContainsFunc(s.dirs.All(), func(d *logdir.Dir) bool { _, has := d.Log(n); return has })
	if !ok || has || p.Leader != s.cfg.NodeID {
		return false
	}
	id, err := checkpoint.ReadTopicID(fs.OS(), folder)
	switch {
	case err == nil:
		return t.ID() == id
	case errors.Is(err, os.ErrNotExist):
		return true // a kill came before the id was written: as with a log in its place, it is the topic's of its name
	}
	s.log.Warn("a folder that was set aside does not say whose it is", "folder", folder, "error", err)
	return false
}
