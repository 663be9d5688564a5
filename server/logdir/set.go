package logdir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/replication/metadata"
)

// A Set is the log directories of a broker. nil is none: a broker of metadata alone.
type Set struct{ dirs []*Dir }

// New returns the set of these directories.
func New(dirs ...*Dir) *Set { return &Set{dirs} }

// All returns the directories, in the order of the configuration. It is not to be changed.
func (s *Set) All() []*Dir {
	if s == nil {
		return nil
	}
	return s.dirs
}

// Online returns the directories that are not offline.
func (s *Set) Online() []*Dir {
	return slices.DeleteFunc(slices.Clone(s.All()), func(d *Dir) bool { return d.Err() != nil })
}

// IDs returns the ids of the directories that are not offline.
func (s *Set) IDs() (all []metadata.ID) {
	for _, d := range s.Online() {
		all = append(all, d.ID())
	}
	return all
}

// Err returns why no directory takes logs, or nil while one does.
func (s *Set) Err() error {
	var all []error
	for _, d := range s.All() {
		err := d.Err()
		if err == nil {
			return nil
		}
		all = append(all, fmt.Errorf("log directory %s: %w", d.Path(), err))
	}
	return errors.Join(all...)
}

// ByID returns the directory of that id, or nil.
func (s *Set) ByID(id metadata.ID) *Dir {
	for _, d := range s.All() {
		if d.ID() == id && !id.IsZero() {
			return d
		}
	}
	return nil
}

// Log returns a topic's log of that name, and the directory that has it.
func (s *Set) Log(n engine.Name, topic [16]byte) (*Dir, *engine.Log) {
	for _, d := range s.All() {
		if l, ok := d.Log(n); ok && l.TopicID() == topic {
			return d, l
		}
	}
	return nil, nil
}

// Busy returns a directory of which so many bytes wait to be written that more should wait for its engine's Ready, or nil.
func (s *Set) Busy() *Dir {
	for _, d := range s.All() {
		if d.Busy() {
			return d
		}
	}
	return nil
}

// Busy reports whether so many bytes of the directory wait to be written that more should wait for its engine's Ready.
func (d *Dir) Busy() bool { return d.engine != nil && d.engine.Busy() }
