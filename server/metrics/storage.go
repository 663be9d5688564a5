package metrics

import (
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/wire"
)

// Storage counts what the engines of the log directories tell.
type Storage struct {
	writes, flushes, checkpoints wire.Histogram
	written, read                atomic.Int64 // bytes
}

// Hooks returns what an engine is to call.
func (s *Storage) Hooks() engine.Metrics {
	return engine.Metrics{
		Write: func(bytes int, took time.Duration) {
			s.writes.Observe(took)
			s.written.Add(int64(bytes))
		},
		Flush:      s.flushes.Observe,
		Read:       func(bytes int) { s.read.Add(int64(bytes)) },
		Checkpoint: s.checkpoints.Observe,
	}
}

func (c collector) storage(s scrape) {
	s.histogram("log_write_duration_seconds", "Writes of logs, with the flush where the topic is sync.", &c.Storage.writes)
	s.counter("log_written_bytes_total", "Bytes of record batches that were written to logs.", float64(c.Storage.written.Load()))
	s.histogram("log_flush_duration_seconds", "Flushes of logs apart from writes: of what async topics have written.", &c.Storage.flushes)
	s.histogram("checkpoint_duration_seconds", "Checkpoints of all logs of a directory.", &c.Storage.checkpoints)
	s.counter("log_read_bytes_total", "Bytes of record batches that were found for readers.", float64(c.Storage.read.Load()))
}
