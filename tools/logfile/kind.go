package logfile

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/guard"
)

// Kind is what a file holds.
type Kind string

// The kinds. Batches are those of a segment, and of Kafka's snapshots of its metadata log.
const (
	Unknown           Kind = "unknown"
	Batches           Kind = "record batches"
	OffsetIndex       Kind = "offset index"
	TimeIndex         Kind = "time index"
	TxnIndex          Kind = "transaction index"
	ProducerSnapshot  Kind = "producer snapshot"
	OffsetCheckpoint  Kind = "offset checkpoint"
	RecoveryPoints    Kind = "zurau recovery checkpoint"
	LeaderEpochs      Kind = "leader epochs"
	PartitionMetadata Kind = "partition metadata"
	Meta              Kind = "directory metadata"
	CleanShutdown     Kind = "mark of an orderly stop"
	MetadataLog       Kind = "zurau metadata log"
	MetadataSnapshot  Kind = "zurau metadata snapshot"
	Guard             Kind = "guard"
	Text              Kind = "text"
)

// scrubName is that of the notes of the scrub, see package engine.
const scrubName = "zurau-scrub"

// Names of zurau's metadata files, see package replication/metadata.
const (
	metadataLogName      = "zurau-metadata.log"
	metadataSnapshotName = "zurau-metadata.snapshot"
)

var kinds = map[string]Kind{
	checkpoint.RecoveryPoints:        OffsetCheckpoint,
	checkpoint.HighWatermarks:        OffsetCheckpoint,
	checkpoint.LogStarts:             OffsetCheckpoint,
	checkpoint.CleanerOffsets:        OffsetCheckpoint,
	checkpoint.LeaderEpochsName:      LeaderEpochs,
	checkpoint.PartitionMetadataName: PartitionMetadata,
	checkpoint.MetaName:              Meta,
	checkpoint.CleanShutdownName:     CleanShutdown,
	recoveryName:                     RecoveryPoints,
	metadataLogName:                  MetadataLog,
	metadataSnapshotName:             MetadataSnapshot,
	scrubName:                        Text,
	"quorum-state":                   Text,
	"bootstrap.checkpoint":           Batches,
}

var suffixes = map[string]Kind{
	".log": Batches, ".checkpoint": Batches, ".index": OffsetIndex, ".timeindex": TimeIndex, ".txnindex": TxnIndex,
	".snapshot": ProducerSnapshot, ".guard": Guard,
}

// passing are endings of files that are about to go away or to take another's place; what is in them stays the same.
var passing = []string{".deleted", ".cleaned", ".swap", ".tmp"}

// sides are in the names of what a recovery of zurau took off a segment, or had for one that was offline.
var sides = []string{".torn-", ".staged-", ".redo-"}

// KindOf tells what a file holds by its name, and for files of a segment the offset in it, else -1.
func KindOf(name string) (Kind, int64) {
	name = filepath.Base(name)
	for _, s := range passing {
		name = strings.TrimSuffix(name, s)
	}
	for _, side := range sides {
		if i := strings.LastIndex(name, side); i > 0 {
			name = name[:i]
		}
	}
	if k, ok := kinds[name]; ok {
		return k, -1
	}
	const digits = 20
	if len(name) > digits {
		base, err := strconv.ParseInt(name[:digits], 10, 64)
		k, ok := suffixes[filepath.Ext(name)]
		if err == nil && base >= 0 && ok {
			return k, base
		}
	}
	return Unknown, -1
}

// isPassing reports whether a file is about to go away, or was put aside. A guard is named so that Kafka removes it.
func isPassing(name string) bool {
	if strings.HasSuffix(name, guard.Suffix) {
		return false
	}
	for _, s := range passing {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return isSide(name)
}

// isSide reports whether a file is one of zurau's side files.
func isSide(name string) bool {
	return slices.ContainsFunc(sides, func(side string) bool { return strings.Contains(name, side) })
}

// partitionOf takes the name of a partition's folder apart.
func partitionOf(dir string) (topic string, partition int32, ok bool) {
	name := filepath.Base(dir)
	i := strings.LastIndexByte(name, '-')
	if i < 1 {
		return "", 0, false
	}
	p, err := strconv.ParseInt(name[i+1:], 10, 32)
	return name[:i], int32(p), err == nil && p >= 0
}
