package group

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"
)

// Config are the knobs of Kafka's broker configuration that classic groups have. Start from DefaultConfig; one without a
// MaxSessionTimeoutMs is taken for it, but for NewID and Log.
type Config struct {
	// MinSessionTimeoutMs and MaxSessionTimeoutMs bound the session timeout of JoinGroup, in ms
	// (group.min.session.timeout.ms, group.max.session.timeout.ms). Beyond them: INVALID_SESSION_TIMEOUT.
	MinSessionTimeoutMs, MaxSessionTimeoutMs int32
	// InitialRebalanceDelayMs is how long a group that was empty waits for more members before its first
	// generation, in ms (group.initial.rebalance.delay.ms). 0 forms it at once.
	InitialRebalanceDelayMs int32
	// MaxSize is the greatest number of members (group.max.size).
	MaxSize int
	// MaxPending is the greatest number of member ids that were given out and not used yet: they cost memory and are
	// free to ask for. Ours; Kafka has no limit.
	MaxPending int
	// MaxProtocolBytes is the most that the members of all groups may say of themselves in their joins, in bytes. Who would
	// exceed it is told GROUP_MAX_SIZE_REACHED. Ours; Kafka has no limit, and a member may say a megabyte.
	MaxProtocolBytes int64
	// NewMemberJoinTimeoutMs ends the wait of a member that never joined before, in ms: it cannot send heartbeats and
	// may be a client that gave up long ago. Kafka's constant.
	NewMemberJoinTimeoutMs int64
	// MetadataMaxBytes is the greatest length of an offset's metadata in UTF-16 units, as Kafka counts
	// (offset.metadata.max.bytes).
	MetadataMaxBytes int
	// OffsetsRetentionMs is how long offsets are kept once nobody uses them, in ms (offsets.retention.minutes).
	OffsetsRetentionMs int64
	// NewID returns a random string for member ids. nil: a version 4 UUID.
	NewID func() string
	// Log tells of rebalances and members. nil: discard.
	Log *slog.Logger
}

// DefaultConfig returns Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeoutMs:     6_000,
		MaxSessionTimeoutMs:     1_800_000,
		InitialRebalanceDelayMs: 3_000,
		MaxSize:                 1<<31 - 1,
		MaxPending:              10_000,
		MaxProtocolBytes:        256 << 20, // ten thousand members of 25 KB
		NewMemberJoinTimeoutMs:  5 * 60_000,
		MetadataMaxBytes:        4_096,
		OffsetsRetentionMs:      7 * 24 * 3_600_000,
	}
}

func (c *Config) newID() string {
	if c.NewID != nil {
		return c.NewID()
	}
	var b [16]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Options say what a Coordinator stands on.
type Options struct {
	Config Config
	// Partitions is the number of partitions of __consumer_offsets (offsets.topic.num.partitions). It decides which
	// partition a group lives in and must not change. 0: 50.
	Partitions int32
	// Store makes records durable. Required.
	Store Log
	// Topics tells which topics exist. nil: all do, and topic ids are not known. It must be complete before Load: an
	// offset of a topic that is gone, or was made again under another id, is forgotten there.
	Topics Topics
	// Clock tells the time. nil: the machine's.
	Clock Clock
	// RetentionCheckInterval is the time between two looks for expired offsets and groups that hold nothing
	// (offsets.retention.check.interval.ms). 0: 10 minutes.
	RetentionCheckInterval time.Duration
}

// Log appends to the partitions of __consumer_offsets.
type Log interface {
	// Append appends records as one batch and does not block on a disk. done is called exactly once, from any goroutine
	// and also before Append returns: with nil once the records are as durable as the topic asks for, in the order of
	// the calls for one partition; else with why not, and then nothing was appended. A *kerr.Error is translated as
	// Kafka does; any other error counts as KAFKA_STORAGE_ERROR. The records' bytes belong to the log until then.
	Append(partition int32, records []Record, done func(error))
}

// Topics is the part of the cluster's metadata that offsets need. It is called with locks held and must not block.
type Topics interface {
	ByName(name string) (id [16]byte, partitions int32, ok bool)
	ByID(id [16]byte) (name string, partitions int32, ok bool)
}

// Instant is a moment: monotonic milliseconds for timeouts, which survive a clock that is set, and wall clock
// milliseconds since 1970 for what is written.
type Instant struct{ Mono, Wall int64 }

// Clock tells the time and wakes.
type Clock interface {
	Now() Instant
	// Wake calls f once, not before monotonic millisecond at, from another goroutine or from whoever moves the clock.
	// stop gives up on it; f may be running already.
	Wake(at int64, f func()) (stop func())
}

// RequestContext is who asks.
type RequestContext struct {
	ClientID string
	// ClientHost is the client's address as Kafka shows it in DescribeGroups: a slash and the IP address.
	ClientHost string
}

type machineClock struct{ start time.Time }

func (c machineClock) Now() Instant {
	return Instant{Mono: time.Since(c.start).Milliseconds(), Wall: time.Now().UnixMilli()}
}

func (c machineClock) Wake(at int64, f func()) func() {
	// Round up: a wake that comes a moment early would find nothing due and ask again.
	t := time.AfterFunc(time.Until(c.start.Add(time.Duration(at+1)*time.Millisecond)), f)
	return func() { t.Stop() }
}
