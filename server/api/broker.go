package api

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/group"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// A Broker is what handlers work on. Its fields are set before the first request and not changed.
type Broker struct {
	NodeID     int32
	Metadata   *metadata.Node
	Partitions *partition.Table
	// Dirs are the log directories. nil: metadata alone.
	Dirs   *logdir.Set
	Groups *group.Coordinator
	Static *config.Static
	// DiskReaders is how many fetches and look-ups wait at a time for the disks of the same log directories; 0 chooses.
	DiskReaders int
	// FetchMaxBytes is the most records that an answer to a fetch has, in bytes [fetch.max.bytes]; 0 is Kafka's default.
	FetchMaxBytes int32
	// FetchSessions is how many fetch sessions there are at a time [max.incremental.fetch.session.cache.slots]; 0 is
	// Kafka's default, negative is none.
	FetchSessions int
	Log           *slog.Logger
	// Appends, where set, counts how long appends take.
	Appends *AppendStats
	// Stop ends when the broker stops: updates of the metadata wait for it at the longest.
	Stop context.Context

	stopping atomic.Bool
	sessions sessions
	workers  workers // unpack batches
	readers  readers // read from disks
	ids      producerIDs
}

// AppendStats are how long batches take from their request's start until they are acknowledged: written, in an async topic,
// or flushed, in a sync one.
type AppendStats struct{ Async, Sync wire.Histogram }

// Layers returns the broker's configuration as it is in force now.
func (b *Broker) Layers() config.Layers {
	img := b.Metadata.Image()
	return config.Layers{
		Dynamic:        img.Configs(metadata.ResourceBroker, strconv.Itoa(int(b.NodeID))),
		DynamicDefault: img.Configs(metadata.ResourceBroker, ""),
		Static:         b.Static,
		ELR:            true,
	}
}

// Table returns the handlers of the broker.
func (b *Broker) Table() *wire.Table {
	if b.readers.n = b.DiskReaders; b.readers.n == 0 {
		b.readers.n = diskReaders
	}
	if b.FetchMaxBytes == 0 {
		b.FetchMaxBytes = defaultFetchMaxBytes
	}
	if b.FetchSessions == 0 {
		b.FetchSessions = defaultSessions
	}
	return wire.NewTable(b.handlers()...)
}

// Stopping answers the requests that wait for records, and lets no more wait.
func (b *Broker) Stopping() {
	b.stopping.Store(true)
	b.Partitions.WakeAll()
}

// Close waits for the broker's own goroutines. No request may come afterwards.
func (b *Broker) Close() {
	b.workers.wait()
	b.readers.wait()
}
