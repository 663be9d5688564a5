// Package logdir owns the log directories of a broker: each is an engine with an id, which the metadata names for every
// replica (KIP-858). It knows which directory has which log, and chooses one for a new partition.
//
//	dirs := logdir.New(first, second)              // first, err := logdir.Open(id, engine.Options{…}); logdir.Absent(path, why)
//	place := dirs.Placer()                         // for one decision: it counts what it has placed
//	id := place.Next().ID()
//	at, log := dirs.Log(name, topicID)             // in whichever directory it is
//
// # States
//
//	          Open                a write or a flush fails
//	(disk) ──────────► online ───────────────────────────► offline until the next start (Err says why)
//	  └─── Absent: it could not be read at the start ────────▲
//
// What becomes of the partitions of a directory that is offline is not decided here: package partition takes their logs from
// them, package server tells the cluster.
//
// # Placement
//
// A new partition goes where a log has the most room for itself: to the directory with the greatest free space, above its reserve,
// for each log that is there. Disks of one size and use so get the same number of logs, as in Kafka, which looks at the number alone;
// a disk with twice the room gets twice as many. A directory without room is taken only when none has any.
package logdir
