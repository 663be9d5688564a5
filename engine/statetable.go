package engine

// The rows of the recovery table.
const (
	ZeroTail            State = "zero-tail"
	TornTail            State = "torn-tail"
	HoledTail           State = "holed-tail"
	HoledSegments       State = "holed-segments"
	DirtyAfterClean     State = "dirty-after-clean"
	Staged              State = "staged"
	EndBelowPoint       State = "end-below-point"
	CorruptBatch        State = "corrupt-batch"
	CorruptFlushed      State = "corrupt-flushed"
	CorruptGuarded      State = "corrupt-guarded"
	EndBelowGuard       State = "end-below-guard"
	GuardDiffers        State = "guard-differs"
	RottenBatch         State = "rotten-batch"
	BadRecords          State = "bad-records"
	OffsetGap           State = "offset-gap"
	EpochFalls          State = "epoch-falls"
	Unreadable          State = "unreadable"
	OldMessages         State = "old-messages"
	SegmentOverlap      State = "segment-overlap"
	SegmentLost         State = "segment-lost"
	SegmentMissing      State = "segment-missing"
	FirstSegmentMissing State = "first-segment-missing"
	HoleRetained        State = "hole-retained"
	HoleCompacted       State = "hole-compacted"
	EmptySegment        State = "empty-segment"
	StartAhead          State = "start-ahead"
	UnknownLog          State = "unknown-log"
	FolderMissing       State = "folder-missing"
	IndexDamaged        State = "index-damaged"
	TimeIndexDamaged    State = "timeindex-damaged"
	IndexOrphan         State = "index-orphan"
	GuardDamaged        State = "guard-damaged"
	GuardOrphan         State = "guard-orphan"
	TxnIndexDamaged     State = "txnindex-damaged"
	SnapshotDamaged     State = "snapshot-damaged"
	SnapshotMissing     State = "snapshot-missing"
	SnapshotStray       State = "snapshot-stray"
	SnapshotDisagrees   State = "snapshot-disagrees"
	EpochsDamaged       State = "epochs-damaged"
	EpochsAhead         State = "epochs-ahead"
	EpochsDisagree      State = "epochs-disagree"
	MetadataMissing     State = "metadata-missing"
	MetadataDamaged     State = "metadata-damaged"
	MetadataForeign     State = "metadata-foreign"
	CheckpointMissing   State = "checkpoint-missing"
	CheckpointDamaged   State = "checkpoint-damaged"
	CheckpointsDiffer   State = "checkpoints-differ"
	PointWithinBatch    State = "point-within-batch"
	HighAhead           State = "high-ahead"
	TmpLeft             State = "tmp-left"
	DeletedLeft         State = "deleted-left"
	DeletedFolderLeft   State = "deleted-folder-left"
	CleanedLeft         State = "cleaned-left"
	SwapLeft            State = "swap-left"
	SwapDamaged         State = "swap-damaged"
	TornKept            State = "torn-kept"
	TornOld             State = "torn-old"
	StrayFolder         State = "stray-folder"
	FutureFolder        State = "future-folder"
	ForeignFile         State = "foreign-file"
	ForeignFolder       State = "foreign-folder"
)

// table is the recovery table. The recovery point is the offset below which everything was flushed.
var table = [...]Row{
	// What is in the segments.
	{ZeroTail, Note, false, "zeros from behind the last batch to the end of the file",
		"space that was laid ahead, or whose writes a crash lost", "cut, and nothing is kept of them"},
	{TornTail, Torn, false, "a bad batch beyond the recovery point, and no good one behind it",
		"a crash tore or lost the end of the log, which was not flushed", "cut behind the last good batch; what is cut is kept in a .torn- file"},
	{HoledTail, Torn, false, "a bad batch beyond the recovery point, and good ones behind it that a crash can leave",
		"a crash lost writes in the midst of those that were in flight", "cut at the hole; what is cut is kept in a .torn- file"},
	{HoledSegments, Torn, false, "a segment beyond the recovery point that does not start where the one before it ends",
		"a crash lost the end of the segment before", "the log ends there; the segments behind it are renamed to .torn-0 and kept"},
	{DirtyAfterClean, Damage, false, "a bad end of the last segment beside the mark of an orderly stop",
		"the file changed after the stop", "cut behind the last good batch; what is cut is kept in a .torn- file"},
	{Staged, Note, false, "records in zurau-stage that go on where the log ends",
		"the process was killed after it had acknowledged them and before they were in their segment", "they are appended to it"},
	{EndBelowPoint, Damage, false, "a log that just ends below its recovery point",
		"somebody cut the file or put an older one in its place, or the checkpoint is of other files",
		"the log ends behind its last good batch, and the recovery point with it"},
	{CorruptBatch, Damage, false, "a bad batch below the recovery point that breaks the chain of batches",
		"it was flushed: the disk has lost or changed it, or somebody has",
		"the log is offline, or, where a start does not look, reads of that place fail; nothing of it is cut"},
	{CorruptFlushed, Damage, false, "a bad batch of a sync log, and a good one more than 16 MiB behind it",
		"it was flushed before the one behind it was written: the disk has lost or changed it", "the log is offline, and nothing of it is cut or served"},
	{CorruptGuarded, Damage, false, "a bad batch before the end of what the guard of its segment says was flushed",
		"it was flushed, and no crash tears that: the disk has lost or changed it, or somebody has", "the log is offline, and nothing of it is cut or served"},
	{EndBelowGuard, Damage, false, "a segment that ends before what its guard says was flushed",
		"the disk has lost its end, or somebody cut the file or put another one in its place",
		"the log is offline, and nothing of it is cut or served; where the file is right, remove the guard"},
	{GuardDiffers, Damage, false, "batches with good checksums, and not with the headers that they had when they were flushed",
		"bits of an offset or of a leader epoch, which no checksum of Kafka's covers, have changed; or somebody put another file in its place",
		"the log is offline, and nothing of it is cut or served; where the file is right, remove the guard"},
	{RottenBatch, Damage, true, "a bad batch below the recovery point in an unbroken chain of batches",
		"bits of it have changed since it was flushed",
		"a start does not read below the recovery point: the scrub takes the log offline, and until then a consumer finds it by its checksum"},
	{BadRecords, Damage, true, "a batch with a good checksum whose records cannot be read",
		"it was made wrong, not changed", "nothing: it is served as it is"},
	{OffsetGap, Damage, true, "offsets that are missing between two batches of a segment, in a log that is not compacted",
		"batches are missing, or were cut out", "nothing: what is there is served"},
	{EpochFalls, Damage, true, "a batch with a smaller leader epoch than one before it",
		"batches are of different histories", "nothing: it is served as it is"},
	{Unreadable, Damage, false, "a file that cannot be read", "the disk, its rights or its kind do not let us",
		"the log is offline until a start can read it; a guard that cannot be read may be removed"},

	{OldMessages, Damage, false, "a message of magic 0 or 1 with a good checksum", "Kafka stored it before 0.11, and nothing is wrong with it",
		"the log is offline, and nothing of it is cut: Apache Kafka still reads it, this broker does not"},

	// Which segments there are.
	{SegmentOverlap, Damage, false, "a segment that starts before the one before it ends",
		"the same offsets are there twice", "the log is offline, and nothing of it is cut or served"},
	{SegmentLost, Damage, false, "offsets that are missing between two segments, and were flushed; or a guard behind the last segment, or without any",
		"a file is gone, or has lost its end", "the log is offline, and nothing of it is cut or served"},
	{SegmentMissing, Damage, false, "offsets that are missing between two segments below the recovery point of an async log",
		"a file is gone, or a compaction that left no trace emptied it: nobody can tell", "what is there is served, as Kafka does"},
	{FirstSegmentMissing, Damage, false, "a log that starts behind its log start offset",
		"its first segments are gone; or a retention removed them and its checkpoint was not written any more", "what is there is served, and the log starts with it"},
	{HoleRetained, Note, false, "offsets that are missing between two segments, all below the log start offset",
		"a retention was cut off", "nothing: nobody may read there, and the next retention removes the rest"},
	{HoleCompacted, Note, false, "offsets that are missing between two segments of a compacted log",
		"the cleaner has removed their records", "nothing: what is there is served"},
	{EmptySegment, Note, false, "a segment without a byte",
		"a crash came between its making and the first write, or took what was written", "it is written to, or stays empty"},
	{StartAhead, Torn, false, "a log start offset beyond the end of the log",
		"records that were deleted up to there were not flushed, or the checkpoint is of other files", "the log starts, empty, at its end"},
	{UnknownLog, Note, false, "a log that the checkpoint of recovery points does not name",
		"it was put there since, or a crash came before the first checkpoint", "all of it is checked, after an orderly stop too"},
	{FolderMissing, Damage, false, "no folder of a log that checkpoints say had records",
		"it was removed or moved, or its disk is not mounted", "the checkpoints forget it; where it is a topic's, that partition starts empty"},

	// What is made again from the segments.
	{IndexDamaged, Healed, false, "an offset index that is missing, too long, garbage, or does not agree with the log",
		"a crash, or somebody, came between; it holds nothing that the log does not", "made again from the log, now or by the first look-up that meets it"},
	{TimeIndexDamaged, Healed, false, "a time index that is missing, too long, garbage, or does not agree with the log",
		"a crash, or somebody, came between; it holds nothing that the log does not", "made again from the log, now or by the first look-up that meets it"},
	{IndexOrphan, Note, false, "an index without its segment", "a crash took the segment's name, or somebody did", "removed: a new segment of that offset would take it for its own"},
	{GuardDamaged, Note, false, "slots of a guard that are torn or garbage",
		"a crash came before they were on the disk", "passed over; the scrub writes new ones once the segment is sealed"},
	{GuardOrphan, Note, false, "a guard without its segment, and not behind the last one, or of nothing",
		"somebody removed the segment, or a crash came before the guard was on the disk", "removed: a new segment of that offset would be held against it"},
	{TxnIndexDamaged, Healed, false, "a transaction index that is garbage, or does not agree with the log",
		"a crash, or somebody, came between; it holds nothing that the log does not", "made again from the log where it is garbage; else believed"},
	{SnapshotDamaged, Healed, false, "a producer snapshot that is garbage", "a crash tore it, or the disk did", "removed; producers are read from the one before it and the log"},
	{SnapshotMissing, Note, false, "no producer snapshot that can be used, below the recovery point", "somebody removed them", "producers are read from the whole log"},
	{SnapshotStray, Note, false, "a producer snapshot beyond the end of the log, or inside a segment and not the newest",
		"a crash took its records, or came before its removal", "removed"},
	{SnapshotDisagrees, Damage, true, "a producer snapshot that does not agree with the log", "it is of other files", "nothing: the newest one is believed"},
	{EpochsDamaged, Healed, false, "leader epochs that are missing or garbage, in a log with records", "a crash, or somebody, came between", "made again from the batches"},
	{EpochsAhead, Torn, false, "leader epochs from behind the end of the log", "a crash took their records", "cut off"},
	{EpochsDisagree, Damage, true, "a batch with another leader epoch than the checkpoint says", "one of them is of another history", "nothing: the checkpoint is believed"},

	// Whose the log is.
	{MetadataMissing, Note, false, "no partition.metadata", "a crash came before the first flush, or Kafka wrote it long ago", "the log is taken for that of the topic of its name"},
	{MetadataDamaged, Healed, false, "a partition.metadata that is garbage", "somebody, or the disk, changed it", "the log is taken for that of the topic of its name, and gets its id"},
	{MetadataForeign, Damage, false, "a partition with another topic id than its topic's other partitions",
		"it is of a topic of the same name that was deleted, or of another cluster", "the broker renames the folder to -stray, and starts an empty log"},

	// The files at the root.
	{CheckpointMissing, Note, false, "no checkpoint of recovery points, beside logs", "somebody removed it, or the logs were put there", "all of every log is checked, and the checkpoint made anew"},
	{CheckpointDamaged, Healed, false, "a checkpoint that is garbage", "somebody, or the disk, changed it", "it is as if it were missing, and is made anew"},
	{CheckpointsDiffer, Note, false, "two recovery points of one log", "a crash came between the writing of the two files, or Kafka had the directory since", "the lower one counts"},
	{PointWithinBatch, Healed, false, "a recovery point in the midst of a batch", "the checkpoint is of other files", "the segment is checked from its start"},
	{HighAhead, Torn, true, "a high watermark beyond the end of the log", "a crash took records that readers had seen, in async mode", "made anew: the end of the log counts"},

	// What work that was cut off has left, and what is not ours.
	{TmpLeft, Note, true, "a .tmp file", "a crash came before it took another file's place", "nothing: the next one replaces it"},
	{DeletedLeft, Note, false, "a .deleted file", "a crash came before its removal", "removed"},
	{DeletedFolderLeft, Note, false, "a -delete folder", "a crash came before the removal of a deleted log", "removed"},
	{CleanedLeft, Note, false, "a .cleaned file, or a .swap file that belongs to one", "a crash came before it could take others' place", "removed: those are still there"},
	{SwapLeft, Note, false, "a .swap file, whole", "Kafka was killed as compacted segments took the place of others", "it takes their place, as in Kafka"},
	{SwapDamaged, Damage, false, "a .swap file that is not whole", "the disk has lost or changed it", "the log is offline, and nothing of it is removed or served"},
	{TornKept, Note, true, "a .torn-, .staged- or .redo- file", "an earlier start cut it off the log, or had it for a log that was offline",
		"kept for as long as the log holds records below it; what a .redo- file has and the log lacks is appended to it"},
	{TornOld, Note, false, "a .torn- or .staged- file below the first segment", "retention has passed the place that it is of", "removed"},
	{StrayFolder, Note, true, "a -stray folder", "it was set aside, and nobody has asked to delete it", "nothing"},
	{FutureFolder, Note, true, "a -future folder", "Kafka was moving a log between directories", "nothing: the log itself is where it was"},
	{ForeignFile, Note, true, "a file that is no log's", "somebody put it there", "nothing"},
	{ForeignFolder, Note, true, "a folder that is no log's", "somebody put it there", "nothing; Kafka does not start beside it"},
}
