// Package metadata is the cluster's memory: which topics, partitions, replicas, leaders, epochs, configs, brokers and
// producer ids there are. Changes are records in a log that Raft replicates among the controllers; each node applies
// the log to an immutable Image that anyone reads without a lock. One node alone is a cluster of one.
//
//	m, err := metadata.Open(metadata.Options{Dir: dir})
//	err = m.Update(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
//		if _, ok := img.Topic("orders"); ok {
//			return nil, errExists
//		}
//		return []metadata.Record{metadata.TopicRecord{ID: id, Name: "orders"}, ...}, nil
//	})
//	topic, ok := m.Image().Topic("orders")
//
// It holds no record batches, knows no Kafka error codes and decides nothing by itself but its own start: what a record
// should say is the business of the function given to Update. Names and configs are not checked against Kafka's rules.
// A set of voters is fixed when a directory is made.
//
// # Layers
//
// Pure, without clock, goroutine or I/O: record.go, codec.go, fields.go, sharing.go (records and their bytes), image.go, edit.go,
// hashed.go, ordered.go, delta.go (the image), snapshot.go, frame.go, recover.go (the files' bytes). The thin shell:
// store.go (files), backup.go, entries.go (what Raft reads), node.go, update.go, loop.go, lead.go, apply.go (one goroutine that
// drives raft.RawNode).
//
// # Life of an update
//
//	caller's goroutine   take the turn → decide on the pending image → apply to it → encode → queue → give the turn back
//	node's goroutine     propose all that is queued → one write, one flush → commit → publish image → subscribers → wake callers
//
// The pending image is the published one with everything proposed on top, so decisions do not wait for the disk, and
// what comes in during a flush shares the next one. Lock order: turn, then mu. The goroutine takes only mu, and calls
// nobody's code with it held.
//
// # Records
//
// Integers are varints (signed ones zigzag) unless a width is given, big endian. An entry of the Raft log is:
//
//	| 1 entry version = 1 | record | record | ...
//
//	record  | uvarint kind | uvarint version = 0 | uvarint length of fields | fields |
//
//	kind 1 cluster id     string id
//	kind 2 topic          id, string name, bool internal
//	kind 3 partition      id topic, int32 number, int32 leader, int32 leader epoch, int32 partition epoch,
//	                      []int32 replicas, []int32 ISR, []id directories
//	kind 4 remove topic   id
//	kind 5 config         byte resource type, string resource name, string key, bool delete, string value
//	kind 6 producer ids   int64 next
//	kind 7 broker         int32 id, int64 epoch, id incarnation, [](string name, string host, 2 port) endpoints,
//	                      string rack, []id directories, bool fenced
//	kind 8 start          int32 node
//
// Strings and arrays have a uvarint of their length before them, an id is its 16 bytes, a bool is one byte 0 or 1. A
// kind or version that is unknown is ErrNewer: an image with a change left out would differ from the cluster's.
//
// # Files
//
// The log, zurau-metadata.log, is a sequence of frames:
//
//	 0        4        8        12       16   17
//	| CRC    | salt   | length | back   |kind| payload, length bytes |
//
//	CRC     CRC-32C over everything behind it in the frame
//	salt    random for each file, in every frame: frames of an older file in reused blocks do not pass, and the next
//	        frame behind a bad place is found by looking for it
//	back    bytes from the start of the write that the frame was part of to the frame. A write begins only after the
//	        one before it was flushed: so a frame proves that all before its write was flushed once
//	kind    1 header, the first frame only: "zurauML" 1, varint node, []int32 voters, uvarint index and term of the
//	        entry before this file's first
//	        2 entry: byte Raft's type, uvarint index, uvarint term, data. An index that is there already replaces that
//	        entry and all behind it
//	        3 hard state: uvarint term, vote, commit; the last one counts
//
// The snapshot, zurau-metadata.snapshot, is an image as records:
//
//	 0          8     12       20     28
//	| zurauMS 1 | CRC | offset | term | entry version and records |        CRC-32C over everything behind it
//
// Topics that were removed are in it, too, as a topic record and its removal, the last 10,000 of them: whoever holds files of
// one, because a kill came between the removal and theirs, learns that they are wanted no more.
//
// When the log exceeds 4 MiB and twice the snapshot, a new snapshot replaces the old one and then a new log replaces
// the old one, each by writing a file beside it, flushing it, renaming it and flushing the directory.
// zurau-metadata.lock is held while a process uses the two.
//
// # What is found at the start
//
//	row  log                     snapshot       it means                                 then
//	1    none                    none           first start                              make an empty log
//	2    none                    there          lost a file                              refuse
//	3    bad first frame         any            renamed when whole: damaged              refuse
//	4    bad frame, and no frame of a later write behind it                              cut there, durably: never acknowledged
//	5    bad frame, and a frame of a later write behind it: was flushed once: damaged    refuse
//	6    whole frame that makes no sense, or unknown: damaged, or newer                  refuse
//	7    starts behind it        older or none  lost a snapshot                          refuse
//	8    reaches it, same term   newer          stopped between the two replacements     drop the entries it covers
//	9    does not reach it, or in another term  another voter's snapshot, stopped likewise   drop all entries
//	10   any                     bad            renamed when whole: damaged              refuse
//
// Damage to the last write before a crash looks like a torn one and is cut (row 4). Close writes one more frame, so a
// directory at rest after an orderly stop has no such blind spot.
//
// # Failure
//
// The first write or flush that fails is final: the node stops, Err says why, and every update from then on fails with
// it. A later flush could succeed and mean nothing. What an update that failed so wrote may be there after a restart.
package metadata
