package config

import (
	"slices"
	"strconv"
)

// Topic is everything that a topic's settings come to on this broker. Times are in milliseconds, sizes in bytes. It is
// a plain value: when a setting changes, compute it again and give it to the log.
type Topic struct {
	SegmentBytes       int32
	SegmentMs          int64
	SegmentJitterMs    int64
	SegmentIndexBytes  int32
	IndexIntervalBytes int32

	RetentionMs       int64 // -1: unlimited
	RetentionBytes    int64 // of a partition; negative: unlimited
	FileDeleteDelayMs int64
	Delete            bool // cleanup.policy has delete
	Compact           bool // cleanup.policy has compact

	MinCleanableDirtyRatio float64 // 0 to 1
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	DeleteRetentionMs      int64

	FlushMessages int64 // 1: sync
	FlushMs       int64

	MaxMessageBytes             int32 // of a batch
	MaxDecompressedMessageBytes int32
	LogAppendTime               bool
	TimestampBeforeMaxMs        int64
	TimestampAfterMaxMs         int64
	CompressionType             string // producer, uncompressed, gzip, snappy, lz4, zstd
	GzipLevel                   int32  // -1: the library's default
	LZ4Level                    int32
	ZstdLevel                   int32

	MinInsyncReplicas     int32
	UncleanLeaderElection bool

	// Writer is how the log is written: auto, buffered or direct.
	Writer string
}

// EffectiveTopic works out a topic's settings from its own (overrides), its broker's dynamic ones (dynamicBroker), those
// for all brokers (dynamicDefault), and what the broker was started with. Any of them may be nil.
func EffectiveTopic(overrides, dynamicBroker, dynamicDefault map[string]string, static *Static) Topic {
	r := ownReader{topicKeys, Layers{Dynamic: dynamicBroker, DynamicDefault: dynamicDefault, Static: static}, overrides}
	policy := r.get("cleanup.policy").list
	t := Topic{
		SegmentBytes: r.int("segment.bytes"), SegmentMs: r.long("segment.ms"), SegmentJitterMs: r.long("segment.jitter.ms"),
		SegmentIndexBytes: r.int("segment.index.bytes"), IndexIntervalBytes: r.int("index.interval.bytes"),

		RetentionMs: r.long("retention.ms"), RetentionBytes: r.long("retention.bytes"),
		FileDeleteDelayMs: r.long("file.delete.delay.ms"),
		Delete:            slices.Contains(policy, "delete"), Compact: slices.Contains(policy, "compact"),

		MinCleanableDirtyRatio: r.get("min.cleanable.dirty.ratio").number,
		MinCompactionLagMs:     r.long("min.compaction.lag.ms"), MaxCompactionLagMs: r.long("max.compaction.lag.ms"),
		DeleteRetentionMs: r.long("delete.retention.ms"),

		FlushMessages: r.long("flush.messages"), FlushMs: r.long("flush.ms"),

		MaxMessageBytes: r.int("max.message.bytes"), MaxDecompressedMessageBytes: r.int("max.decompressed.message.bytes"),
		LogAppendTime:        r.get("message.timestamp.type").text == "LogAppendTime",
		TimestampBeforeMaxMs: r.long("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:  r.long("message.timestamp.after.max.ms"),
		CompressionType:      r.get("compression.type").text,
		GzipLevel:            r.int("compression.gzip.level"), LZ4Level: r.int("compression.lz4.level"),
		ZstdLevel: r.int("compression.zstd.level"),

		MinInsyncReplicas: r.int("min.insync.replicas"), UncleanLeaderElection: r.bool("unclean.leader.election.enable"),
		Writer: r.get("zurau.writer").text,
	}
	if n := r.int("internal.segment.bytes"); n > 0 {
		t.SegmentBytes = n
	}
	return t
}

// CompressionLevel is the level for a codec, by its name in CompressionType; 0 for those that have none.
func (t *Topic) CompressionLevel(codec string) int32 {
	switch codec {
	case "gzip":
		return t.GzipLevel
	case "lz4":
		return t.LZ4Level
	case "zstd":
		return t.ZstdLevel
	}
	return 0
}

// Sync is true where every append is flushed before it is acknowledged.
func (t *Topic) Sync() bool { return t.FlushMessages == 1 }

// ownReader reads the values of a topic or a group.
type ownReader struct {
	keys []Key
	Layers
	overrides map[string]string
}

// get panics on a key that is not in the table: a mistake in the program, which a test would find.
func (r ownReader) get(name string) parsed {
	k, ok := find(r.keys, name)
	if !ok {
		panic("config: no key " + name)
	}
	f, _ := r.own(k, r.overrides, 0)
	return f.parsed
}

func (r ownReader) long(name string) int64 {
	n, _ := strconv.ParseInt(r.get(name).text, 10, 64)
	return n
}

func (r ownReader) int(name string) int32 { return int32(r.long(name)) }
func (r ownReader) bool(name string) bool { return r.get(name).text == "true" }
