package server

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zurau/zurau/replication/metadata"
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

// Done is closed when the broker cannot go on, and by Close. It cannot go on when its log directory has failed, which is a
// write or a flush of a log or of the metadata that failed: the first is final. Err says why. Nothing is taken then; what is
// flushed is served until Close, which is for whoever started the broker to call.
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

// directoryFailed is called once, by the engine. A broker has one directory, so that none is left.
func (s *Server) directoryFailed(err error) {
	s.log.Error("the log directory has failed: nothing is acknowledged any more, and the broker is to stop",
		"dir", s.dir, "error", err, "do", "look for the cause (dmesg, df, ulimit -a), then start again: "+
			"a start checks what was not flushed, and keeps all that was acknowledged as its flush mode promises")
	s.ending.because(s.inDir(err))
}

// watchMetadata ends the broker with its metadata, without which it can neither change nor say anything new.
func (s *Server) watchMetadata() {
	<-s.meta.Done()
	if err := s.meta.Err(); !errors.Is(err, metadata.ErrClosed) {
		s.ending.because(s.inDir(err))
	}
}

// failure returns why the broker cannot go on, whether anybody was told or not.
func (s *Server) failure() error {
	if err := s.engine.Err(); err != nil {
		return s.inDir(err)
	}
	if err := s.meta.Err(); err != nil && !errors.Is(err, metadata.ErrClosed) {
		return s.inDir(err)
	}
	return nil
}

func (s *Server) inDir(err error) error {
	return fmt.Errorf("log directory %s has failed: %w", s.dir, err)
}
