// Package kraft reads what Apache Kafka 3.3 to 4.x remembers of a cluster in its own metadata log, the folder
// __cluster_metadata-0, so that a first start on a directory of Kafka can import it. It reads and never writes: the
// folder stays as Kafka left it, and Kafka can be started on it again.
//
//	state, err := kraft.Read(fs.OS(), filepath.Join(dir, kraft.Folder))
//	// errors.Is(err, os.ErrNotExist): Kafka's metadata is not here
//	plan := state.Import(kraft.Broker{NodeID: 1, Directories: ids, Logs: logs})
//	// plan.Records go into the metadata log; the rest of plan is for people
//
// Where the folder is missing or cannot be read, Adopt makes topics of the partition folders alone.
//
// # The folder
//
//	OFFSET-EPOCH.checkpoint    a snapshot: all records that make the state up to OFFSET (20 and 10 digits)
//	OFFSET.log                 segments of the log, as of any topic (record batches, magic 2)
//	*.index, quorum-state, …   not needed here
//
// The newest snapshot counts, then the log from its offset on. A snapshot gets its name when it is whole, and ends with a
// footer; one that is damaged is an error, since what it has is nowhere else. So is a bad batch in the log, but for the
// last write before a kill: a bad batch with no good one behind it ends the log. With several controllers the end of the log
// may not have been committed when the process died, and what is committed is written nowhere: all that is there is taken, as by a
// leader that Kafka would elect from this copy.
//
// # A record
//
// Control batches (leader changes, snapshot headers) are Raft's own and are skipped. The value of any other record is
//
//	| uvarint frame version = 1 | uvarint kind | uvarint version | fields | tagged fields |
//
// with fields in Kafka's flexible encoding: integers big endian of a fixed width, a string or an array behind an uvarint of
// its length + 1 (0 is null), an id as 16 bytes, and after the fields of each structure its tagged fields:
// uvarint count, then uvarint tag, uvarint size, bytes of each. The kinds are in record.go; their fields are those of Kafka
// 4.4's schemas, and a newer version, or a kind that is unknown there, is ErrNewer.
//
// Records between BeginTransaction and EndTransaction count together or, where the end is missing, not at all (KIP-868).
//
// # What is imported
//
//	topics, ids, partitions         with leader epochs; a partition whose folder is not here has no leader
//	configs of topics, groups,      those that the caller's Accept takes
//	  client metrics, this broker
//	  and all brokers
//	producer ids                    the next block starts behind Kafka's last
//
// and what is not, which Plan counts and names: ACLs, quotas, SCRAM credentials, delegation tokens, other brokers and their
// configs. Feature levels are named: a broker has its own.
package kraft
