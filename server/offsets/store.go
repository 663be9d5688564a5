package offsets

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/group"
	"github.com/zurau/zurau/server/partition"
)

// Topic is where groups and their offsets are.
const Topic = "__consumer_offsets"

// Options say what a Store stands on. Metadata and Partitions are required.
type Options struct {
	Metadata   *metadata.Node
	Partitions *partition.Table
	// Config has the settings of groups and offsets. The zero value is Kafka's defaults.
	Config config.Groups
	// Clock tells groups the time. nil: the machine's.
	Clock group.Clock
	// Log hears of groups, and of partitions that cannot be loaded. nil: discard.
	Log *slog.Logger
}

// A Store is the partitions of __consumer_offsets that this broker leads. Its methods may be called from anywhere.
type Store struct {
	metadata *metadata.Node
	table    *partition.Table
	groups   *group.Coordinator
	// partitions is the number that the coordinator spreads groups over. It is the topic's where that exists: the
	// setting counts for a topic that is yet to be made.
	partitions int32
	codec      record.Codec
	log        *slog.Logger

	prepared sync.Pool   // of *record.Prepared, each used for the time of one append
	closed   atomic.Bool // loads end early

	mu struct {
		sync.Mutex
		topic *incarnation  // nil: there is none
		last  chan struct{} // closed when the load that was begun last is over: loads run one after the other
	}
}

// An incarnation is one topic of that name, from its creation to its deletion.
type incarnation struct {
	id   metadata.ID
	led  int32 // partitions [0, led) were handed to the coordinator; guarded by Store.mu
	gone atomic.Bool
	// unmade are those of led whose log was not there; guarded by Store.mu.
	unmade map[int32]bool
}

// New returns a store, and the coordinator that stands on it, which has no partition before Start. The metadata must
// be there: the number of partitions of a topic that exists is taken from it.
func New(o Options) *Store {
	s := &Store{
		metadata: o.Metadata, table: o.Partitions, log: o.Log,
		partitions: o.Config.OffsetsPartitions, codec: record.Codec(o.Config.OffsetsCodec),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if t, ok := o.Metadata.Image().Topic(Topic); ok && t.Len() > 0 {
		s.partitions = int32(t.Len())
	}
	if s.partitions <= 0 {
		s.partitions = 50
	}
	s.prepared.New = func() any { return new(record.Prepared) }
	s.mu.last = make(chan struct{})
	close(s.mu.last)
	s.groups = group.New(group.Options{
		Config: groupConfig(o.Config, s.log), Partitions: s.partitions,
		Store: s, Topics: topics{o.Metadata}, Clock: o.Clock,
		RetentionCheckInterval: time.Duration(o.Config.OffsetsRetentionCheckMs) * time.Millisecond,
	})
	o.Partitions.OnMade(s.made)
	return s
}

// groupConfig says in the coordinator's words what the settings are.
func groupConfig(c config.Groups, log *slog.Logger) group.Config {
	g := group.DefaultConfig()
	g.Log = log
	if c.MaxSessionMs == 0 {
		return g // nothing was set
	}
	g.MinSessionTimeoutMs, g.MaxSessionTimeoutMs = c.MinSessionMs, c.MaxSessionMs
	g.InitialRebalanceDelayMs = c.InitialDelayMs
	g.MaxSize = int(c.MaxSize)
	g.MetadataMaxBytes = int(c.MaxMetadataBytes)
	g.OffsetsRetentionMs = c.OffsetsRetentionMs
	return g
}

// Coordinator returns the coordinator of the groups in this store.
func (s *Store) Coordinator() *group.Coordinator { return s.groups }

// Start takes the partitions that there are, and follows the metadata from then on. When it returns, the coordinator
// answers for each of them that it is loading; what comes next happens in the background. It is called once, after the
// partition table follows the metadata: the logs must be there.
func (s *Store) Start() {
	s.mu.Lock() // changes wait until the image that they come after was taken in
	defer s.mu.Unlock()
	img := s.metadata.Subscribe(s.changed)
	if t, ok := img.Topic(Topic); ok {
		s.lead(t)
	}
}

// Close answers everybody who waits for a group, ends loads, and waits for those. Groups answer nothing but
// COORDINATOR_NOT_AVAILABLE afterwards. The logs are the engine's to close.
func (s *Store) Close() {
	s.closed.Store(true)
	s.groups.Close()
	s.mu.Lock()
	last := s.mu.last
	s.mu.Unlock()
	<-last
}
