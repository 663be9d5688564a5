package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

// An ending is why a broker ends, for those who wait for that. The first reason counts.
type ending struct {
	once sync.Once
	done chan struct{}
	err  error // set before done is closed
}

func (e *ending) because(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

// Done is closed when the broker cannot go on, and by Close. It cannot go on when the log directory with the metadata has failed, which is a
// write or a flush of a log or of the metadata that failed: the first is final. Err says why. Nothing is taken then; what is
// flushed is served until Close, which is for whoever started the broker to call. Without another directory it goes on.
func (s *Server) Done() <-chan struct{} { return s.ending.done }

// Err returns why the broker cannot go on. It is nil while it can, and after a Close that had no such reason.
func (s *Server) Err() error {
	select {
	case <-s.ending.done:
		return s.ending.err
	default:
		return nil
	}
}

// tellAgain is how long after a failure the cluster is told once more of the directories that have failed.
const tellAgain = time.Second

// watchDirs hears of directories that fail, until the broker stops.
func (s *Server) watchDirs(stop context.Context) {
	var again <-chan time.Time
	for {
		select {
		case i := <-s.failures:
			if !s.directoryFailed(s.dirs.All()[i]) {
				continue
			}
		case <-again:
		case <-stop.Done():
			return
		}
		again = nil
		if !s.tellFailed(stop) {
			again = time.After(tellAgain)
		}
	}
}

// directoryFailed is called once for each directory. It reports whether the cluster is to be told that it has failed.
func (s *Server) directoryFailed(d *logdir.Dir) bool {
	const do = "look for the cause (dmesg, df, ulimit -a), then start again: " +
		"a start checks what was not flushed, and keeps all that was acknowledged as its flush mode promises"
	if d.Path() == s.metaDir {
		s.log.Error("the log directory has failed: nothing is acknowledged any more, and the broker is to stop",
			"dir", d.Path(), "error", d.Err(), "do", do)
		s.ending.because(inDir(d.Path(), d.Err()))
		return false
	}
	n := s.broker.Partitions.DirectoryFailed(d)
	s.offsets.DirectoryFailed()
	s.log.Error("a log directory has failed: its partitions are offline, and the others go on", "dir", d.Path(), "error", d.Err(), "partitions", n, "do", do)
	return true
}

// tellFailed takes the directories that have failed out of the broker's registration, and returns false where that is to be tried again: the
// metadata's own disk may be full for a while, or another broker about to lead.
func (s *Server) tellFailed(stop context.Context) bool {
	err := s.meta.Update(stop, func(img *metadata.Image) ([]metadata.Record, error) {
		b, _ := img.Broker(s.cfg.NodeID)
		b.Directories = s.dirs.IDs()
		return []metadata.Record{metadata.BrokerRecord{Broker: b}}, nil
	})
	if err == nil || stop.Err() != nil || s.meta.Err() != nil {
		return true // or the broker ends
	}
	s.log.Error("clients are not told that partitions have no leader: it is tried again", "error", err)
	return false
}

// watchMetadata ends the broker with its metadata, without which it can neither change nor say anything new.
func (s *Server) watchMetadata() {
	<-s.meta.Done()
	if err := s.meta.Err(); !errors.Is(err, metadata.ErrClosed) {
		s.ending.because(inDir(s.metaDir, err))
	}
}

// failure returns why the broker cannot go on, whether anybody was told or not. Where all directories have failed, so has that of the
// metadata.
func (s *Server) failure() error {
	if err := s.dirs.All()[s.metaIndex()].Err(); err != nil {
		return inDir(s.metaDir, err)
	}
	if s.meta == nil {
		return nil
	}
	if err := s.meta.Err(); err != nil && !errors.Is(err, metadata.ErrClosed) {
		return inDir(s.metaDir, err)
	}
	return nil
}

func inDir(dir string, err error) error {
	return fmt.Errorf("log directory %s has failed: %w", dir, err)
}
