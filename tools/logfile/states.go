package logfile

import "github.com/zurau/zurau/engine"

// States of files that are not the engine's: package server's, and replication/metadata's.
const (
	MetaDamaged             engine.State = "meta-damaged"
	MetadataLogTorn         engine.State = "metadata-log-torn"
	MetadataLogDamaged      engine.State = "metadata-log-damaged"
	MetadataSnapshotDamaged engine.State = "metadata-snapshot-damaged"
	BackupUnfinished        engine.State = "backup-unfinished"
)

// States returns the rows of the recovery table that the engine's does not have.
func States() []engine.Row {
	const once, refuse = "a write that was flushed is not there any more, or changed", "the broker does not start: restore the file"
	return []engine.Row{
		{State: MetaDamaged, Harm: engine.Damage, Seen: "a meta.properties that is garbage", Means: "somebody, or the disk, changed it", Done: refuse},
		{State: MetadataLogTorn, Harm: engine.Torn, Seen: "a metadata log whose last write is not whole", Means: "a crash tore it",
			Done: "cut behind the last whole write"},
		{State: MetadataLogDamaged, Harm: engine.Damage, Seen: "a bad frame of the metadata log that was flushed", Means: once, Done: refuse},
		{State: MetadataSnapshotDamaged, Harm: engine.Damage, Seen: "a metadata snapshot that is garbage", Means: once, Done: refuse},
		{State: BackupUnfinished, Harm: engine.Damage, Seen: "a directory with a file " + engine.Unfinished,
			Means: "a backup that a kill or a power cut came into, and that may lack anything", Done: "the broker does not start: remove it"},
	}
}

// RowOf returns the row of a state.
func RowOf(s engine.State) engine.Row {
	for _, r := range States() {
		if r.State == s {
			return r
		}
	}
	return s.Row()
}

// stateOf is the state of a small file that cannot be read.
var stateOf = map[Kind]engine.State{
	OffsetCheckpoint: engine.CheckpointDamaged, RecoveryPoints: engine.CheckpointDamaged, LeaderEpochs: engine.EpochsDamaged,
	PartitionMetadata: engine.MetadataDamaged, Meta: MetaDamaged, CleanShutdown: engine.CheckpointDamaged,
	ProducerSnapshot: engine.SnapshotDamaged, TxnIndex: engine.TxnIndexDamaged,
}
