package config

import (
	"slices"
	"strings"
)

// Broker is what a broker's settings come to, those that zurau acts on. Times are in milliseconds, sizes in bytes. Like
// Topic it is a plain value, to be computed again when a dynamic setting changes; what is of a read-only key is then the
// same as before.
type Broker struct {
	NodeID             int32
	IsBroker           bool
	IsController       bool
	Rack               string
	Voters             []string // ID@HOST:PORT; none: this node alone
	LogDirs            []string
	MetadataDir        string // "": the first of LogDirs
	Authorizer         string // class name; "": everything is allowed
	NumPartitions      int32  // of a topic created without saying
	ReplicationFactor  int32  // likewise
	AutoCreateTopics   bool
	DeleteTopics       bool
	Network            Network
	Logs               Logs
	Groups             Groups
	Transactions       Transactions
	Replication        Replication
	Engine             Engine
	MetricsListener    string // HOST:PORT, "" for none
	ControlledShutdown bool
}

// Network is about listeners, connections and requests.
type Network struct {
	Listeners []Listener
	// Advertised are the listeners of clients and brokers where advertised.listeners is not set. Their hosts may then be
	// no address to connect to: "" or 0.0.0.0.
	Advertised          []Listener
	InterBroker         string   // name of the brokers' listener
	ControllerListeners []string // names

	MaxConnections       int32
	MaxConnectionsPerIP  int32
	MaxConnectionsByHost map[string]int32 // over MaxConnectionsPerIP
	MaxConnectionsRate   int32            // a second
	IdleMs               int64
	ReauthMs             int64 // 0: no limit
	FailedAuthDelayMs    int32
	RequestMaxBytes      int32
	SendBufferBytes      int32 // -1: the kernel's
	ReceiveBufferBytes   int32 // -1: the kernel's
	Backlog              int32
	FetchMaxBytes        int32
	FetchSessions        int32
	MaxRequestPartitions int32
	RequestTimeoutMs     int32
	Loops                int32 // 0: one for each processor
	PendingBytes         int64 // of unread answers of a connection
	PendingRequests      int32 // of a connection
	RackAwareFetch       bool  // consumers may read from a replica in their rack
}

// Logs is about the work on logs that is not a topic's.
type Logs struct {
	RetentionCheckMs           int64
	RecoveryCheckpointMs       int32
	StartOffsetCheckpointMs    int32
	HighWatermarkCheckpointMs  int64
	InitialTaskDelayMs         int64
	RecoveriesPerDir           int32
	Compact                    bool
	CompactionThreads          int32
	CompactionBackoffMs        int64
	CompactionBufferBytes      int64
	CompactionBytesPerSecond   float64
	ProducerIDExpirationMs     int32
	ProducerIDExpirationScanMs int32
}

// Groups is about the group coordinator and offsets.
type Groups struct {
	Protocols        []string // classic, consumer, share, streams
	MinSessionMs     int32    // classic
	MaxSessionMs     int32    // classic
	MaxSize          int32    // classic
	InitialDelayMs   int32    // classic
	ConsumerMaxSize  int32
	Assignors        []string
	MigrationPolicy  string // in lower case: disabled, upgrade, downgrade, bidirectional
	RegexRefreshMs   int32
	MaxMetadataBytes int32

	OffsetsPartitions        int32
	OffsetsReplicationFactor int32
	OffsetsSegmentBytes      int32
	OffsetsCodec             int32 // 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
	OffsetsRetentionMs       int64
	OffsetsRetentionCheckMs  int64
	OffsetsCommitTimeoutMs   int32
}

// Transactions is about the transaction coordinator.
type Transactions struct {
	MaxTimeoutMs         int32
	Verify               bool // partitions ask the coordinator before they take records
	IDExpirationMs       int32
	AbortScanMs          int32
	ExpirationScanMs     int32
	LogPartitions        int32
	LogReplicationFactor int32
	LogMinISR            int32
	LogSegmentBytes      int32
}

// Replication is about followers, leaders and the controller.
type Replication struct {
	LagMaxMs              int64
	FetchMaxBytes         int32 // of a partition
	FetchResponseMaxBytes int32
	FetchMinBytes         int32
	FetchWaitMs           int32
	FetchBackoffMs        int32
	FetchTimeoutMs        int32
	FetchersPerBroker     int32
	HeartbeatMs           int32
	SessionMs             int32
	RebalanceLeaders      bool
	RebalanceCheckSeconds int64
	MetadataSnapshotBytes int64
}

// Engine is about the storage engine and the machine.
type Engine struct {
	SyncMethod     string // auto, dsync, fdatasync
	Ring           string // auto, on, off
	MemoryBytes    int64  // -1: chosen
	ZeroAheadBytes int64
	StageBytes     int64
	ReserveBytes   int64
	ReadWorkers    int32 // 0: chosen

	ScrubBytesPerSecond int64 // 0: none
	ScrubIntervalMs     int64
}

const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// Broker works out the settings.
func (l Layers) Broker() Broker {
	roles := strings.Join(l.List("process.roles"), ",")
	return Broker{
		NodeID: l.Int("node.id"), IsBroker: strings.Contains(roles, "broker"), IsController: strings.Contains(roles, "controller"),
		Rack: l.Text("broker.rack"), Voters: l.List("controller.quorum.voters"),
		LogDirs: l.logDirs(), MetadataDir: l.Text("metadata.log.dir"), Authorizer: l.Text("authorizer.class.name"),
		NumPartitions: l.Int("num.partitions"), ReplicationFactor: l.Int("default.replication.factor"),
		AutoCreateTopics: l.Bool("auto.create.topics.enable"), DeleteTopics: l.Bool("delete.topic.enable"),
		Network: l.network(), Logs: l.logs(), Groups: l.groups(), Transactions: l.transactions(),
		Replication: l.replication(), Engine: l.engine(), ControlledShutdown: l.Bool("controlled.shutdown.enable"),
		MetricsListener: l.Text("zurau.metrics.listener"),
	}
}

// logDirs are those of log.dirs, or of log.dir where that is not set.
func (l Layers) logDirs() []string {
	if dirs := l.List("log.dirs"); len(dirs) > 0 {
		return dirs
	}
	return l.List("log.dir")
}

func (l Layers) network() Network {
	protocols := l.Text("listener.security.protocol.map")
	// What does not parse was refused when it was set: checker.listeners.
	listeners, _ := ParseListeners(l.List("listeners"), protocols, false)
	advertised, _ := ParseListeners(l.List("advertised.listeners"), protocols, true)
	overrides, _ := ConnectionOverrides(l.Text("max.connections.per.ip.overrides"))
	controllers := l.List("controller.listener.names")
	if len(advertised) == 0 {
		advertised = slices.DeleteFunc(slices.Clone(listeners), func(listener Listener) bool {
			return slices.ContainsFunc(controllers, func(s string) bool { return strings.EqualFold(s, listener.Name) })
		})
	}
	return Network{
		Listeners: listeners, Advertised: advertised, InterBroker: l.interBroker(listeners),
		ControllerListeners: controllers,
		MaxConnections:      l.Int("max.connections"), MaxConnectionsPerIP: l.Int("max.connections.per.ip"),
		MaxConnectionsByHost: overrides, MaxConnectionsRate: l.Int("max.connection.creation.rate"),
		IdleMs: l.Long("connections.max.idle.ms"), ReauthMs: l.Long("connections.max.reauth.ms"),
		FailedAuthDelayMs: l.Int("connection.failed.authentication.delay.ms"),
		RequestMaxBytes:   l.Int("socket.request.max.bytes"),
		SendBufferBytes:   l.buffer("socket.send.buffer.bytes"), ReceiveBufferBytes: l.buffer("socket.receive.buffer.bytes"),
		Backlog: l.Int("socket.listen.backlog.size"), FetchMaxBytes: l.Int("fetch.max.bytes"),
		FetchSessions:        l.Int("max.incremental.fetch.session.cache.slots"),
		MaxRequestPartitions: l.Int("max.request.partition.size.limit"), RequestTimeoutMs: l.Int("request.timeout.ms"),
		Loops: l.Int("zurau.network.loops"), PendingBytes: l.Long("zurau.connection.pending.bytes"),
		PendingRequests: l.Int("zurau.connection.pending.requests"),
		RackAwareFetch:  l.Text("replica.selector.class") == rackAwareSelector,
	}
}

// buffer is a socket's buffer, or 0 for the kernel's own tuning: Kafka's default is a bound to what one connection can move,
// and nobody has asked for it.
func (l Layers) buffer(name string) int32 {
	if !l.isSet(name) {
		return 0
	}
	return max(l.Int(name), 0)
}

// interBroker is the name of the listener that brokers use: as set, or the first with their security protocol.
func (l Layers) interBroker(listeners []Listener) string {
	if name := l.Text("inter.broker.listener.name"); name != "" {
		return strings.ToUpper(name)
	}
	for _, listener := range listeners {
		if listener.Protocol == l.Text("security.inter.broker.protocol") {
			return listener.Name
		}
	}
	return ""
}

func (l Layers) logs() Logs {
	return Logs{
		RetentionCheckMs:        l.Long("log.retention.check.interval.ms"),
		RecoveryCheckpointMs:    l.Int("log.flush.offset.checkpoint.interval.ms"),
		StartOffsetCheckpointMs: l.Int("log.flush.start.offset.checkpoint.interval.ms"),

		HighWatermarkCheckpointMs: l.Long("replica.high.watermark.checkpoint.interval.ms"),
		InitialTaskDelayMs:        l.Long("log.initial.task.delay.ms"),
		RecoveriesPerDir:          l.Int("num.recovery.threads.per.data.dir"),

		Compact: l.Bool("log.cleaner.enable"), CompactionThreads: l.Int("log.cleaner.threads"),
		CompactionBackoffMs:      l.Long("log.cleaner.backoff.ms"),
		CompactionBufferBytes:    l.Long("log.cleaner.dedupe.buffer.size"),
		CompactionBytesPerSecond: l.Double("log.cleaner.io.max.bytes.per.second"),

		ProducerIDExpirationMs:     l.Int("producer.id.expiration.ms"),
		ProducerIDExpirationScanMs: l.Int("producer.id.expiration.check.interval.ms"),
	}
}

func (l Layers) groups() Groups {
	return Groups{
		Protocols:    l.List("group.coordinator.rebalance.protocols"),
		MinSessionMs: l.Int("group.min.session.timeout.ms"), MaxSessionMs: l.Int("group.max.session.timeout.ms"),
		MaxSize: l.Int("group.max.size"), InitialDelayMs: l.Int("group.initial.rebalance.delay.ms"),
		ConsumerMaxSize: l.Int("group.consumer.max.size"), Assignors: l.List("group.consumer.assignors"),
		MigrationPolicy:  strings.ToLower(l.Text("group.consumer.migration.policy")),
		RegexRefreshMs:   l.Int("group.consumer.regex.refresh.interval.ms"),
		MaxMetadataBytes: l.Int("offset.metadata.max.bytes"),

		OffsetsPartitions:        l.Int("offsets.topic.num.partitions"),
		OffsetsReplicationFactor: l.Int("offsets.topic.replication.factor"),
		OffsetsSegmentBytes:      l.Int("offsets.topic.segment.bytes"),
		OffsetsCodec:             l.Int("offsets.topic.compression.codec"),
		OffsetsRetentionMs:       int64(l.Int("offsets.retention.minutes")) * minute,
		OffsetsRetentionCheckMs:  l.Long("offsets.retention.check.interval.ms"),
		OffsetsCommitTimeoutMs:   l.Int("offsets.commit.timeout.ms"),
	}
}

func (l Layers) transactions() Transactions {
	return Transactions{
		MaxTimeoutMs: l.Int("transaction.max.timeout.ms"), Verify: l.Bool("transaction.partition.verification.enable"),
		IDExpirationMs:       l.Int("transactional.id.expiration.ms"),
		AbortScanMs:          l.Int("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		ExpirationScanMs:     l.Int("transaction.remove.expired.transaction.cleanup.interval.ms"),
		LogPartitions:        l.Int("transaction.state.log.num.partitions"),
		LogReplicationFactor: l.Int("transaction.state.log.replication.factor"),
		LogMinISR:            l.Int("transaction.state.log.min.isr"),
		LogSegmentBytes:      l.Int("transaction.state.log.segment.bytes"),
	}
}

func (l Layers) replication() Replication {
	return Replication{
		LagMaxMs: l.Long("replica.lag.time.max.ms"), FetchMaxBytes: l.Int("replica.fetch.max.bytes"),
		FetchResponseMaxBytes: l.Int("replica.fetch.response.max.bytes"), FetchMinBytes: l.Int("replica.fetch.min.bytes"),
		FetchWaitMs: l.Int("replica.fetch.wait.max.ms"), FetchBackoffMs: l.Int("replica.fetch.backoff.ms"),
		FetchTimeoutMs: l.Int("replica.socket.timeout.ms"), FetchersPerBroker: l.Int("num.replica.fetchers"),
		HeartbeatMs: l.Int("broker.heartbeat.interval.ms"), SessionMs: l.Int("broker.session.timeout.ms"),
		RebalanceLeaders:      l.Bool("auto.leader.rebalance.enable"),
		RebalanceCheckSeconds: l.Long("leader.imbalance.check.interval.seconds"),
		MetadataSnapshotBytes: l.Long("metadata.log.max.record.bytes.between.snapshots"),
	}
}

func (l Layers) engine() Engine {
	return Engine{
		SyncMethod: l.Text("zurau.sync.method"), Ring: l.Text("zurau.ring"), MemoryBytes: l.Long("zurau.memory.bytes"),
		ZeroAheadBytes: l.Long("zurau.zero.ahead.bytes"), StageBytes: l.Long("zurau.stage.bytes"),
		ReserveBytes: l.Long("zurau.reserve.bytes"), ReadWorkers: l.Int("zurau.read.workers"),
		ScrubBytesPerSecond: l.Long("zurau.scrub.bytes.per.second"), ScrubIntervalMs: l.Long("zurau.scrub.interval.ms"),
	}
}
