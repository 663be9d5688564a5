package metrics

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/wire"
)

// Storage counts what the engines of the log directories tell.
type Storage struct {
	writes, flushes, checkpoints wire.Histogram
	written, read                atomic.Int64 // bytes
	opened, closed, evicted      atomic.Int64 // log files
	refused                      [len(reasons) + 1]atomic.Int64
}

// reasons are why an engine refuses appends, by what its error wraps. What is none of them is in the place behind them.
var reasons = [...]struct {
	name string
	err  error
}{
	{"no_space", engine.ErrNoSpace},
	{"busy", engine.ErrBusy},
	{"offline", engine.ErrOffline},
	{"too_large", engine.ErrTooLargeForSegment},
	{"deleted", engine.ErrDeleted},
	{"closed", engine.ErrClosed},
}

// otherReason is that of what a producer did wrong.
const otherReason = "producer"

// refuse counts an append that was refused.
func (s *Storage) refuse(why error) {
	i := 0
	for i < len(reasons) && !errors.Is(why, reasons[i].err) {
		i++
	}
	s.refused[i].Add(1)
}

// Hooks returns what an engine is to call.
func (s *Storage) Hooks() engine.Metrics {
	return engine.Metrics{
		Write: func(bytes int, took time.Duration) {
			s.writes.Observe(took)
			s.written.Add(int64(bytes))
		},
		Refuse:     s.refuse,
		Flush:      s.flushes.Observe,
		Read:       func(bytes int) { s.read.Add(int64(bytes)) },
		Checkpoint: s.checkpoints.Observe,
		Open:       func() { s.opened.Add(1) },
		Close: func(evicted bool) {
			s.closed.Add(1)
			if evicted {
				s.evicted.Add(1)
			}
		},
	}
}

func (c collector) storage(s scrape) {
	s.histogram("log_write_duration_seconds", "Writes of logs, with the flush where the topic is sync.", &c.Storage.writes)
	s.counter("log_written_bytes_total", "Bytes of record batches that were written to logs.", float64(c.Storage.written.Load()))
	s.histogram("log_flush_duration_seconds", "Flushes of logs apart from writes: of what async topics have written.", &c.Storage.flushes)
	s.histogram("checkpoint_duration_seconds", "Checkpoints of all logs of a directory.", &c.Storage.checkpoints)
	s.counter("log_read_bytes_total", "Bytes of record batches that were found for readers.", float64(c.Storage.read.Load()))
	closed := c.Storage.closed.Load() // first: it follows what was opened
	opened := c.Storage.opened.Load()
	s.gauge("log_files_open", "Log files that are open, for writers and for readers.", float64(opened-closed))
	s.counter("log_files_opened_total", "Log files that were opened.", float64(opened))
	s.counter("log_files_evicted_total", "Log files that were closed to make room for others.", float64(c.Storage.evicted.Load()))
	for i := range c.Storage.refused {
		reason := otherReason
		if i < len(reasons) {
			reason = reasons[i].name
		}
		s.counter("appends_refused_total", "Appends that a log refused.", float64(c.Storage.refused[i].Load()), "reason", reason)
	}
}
