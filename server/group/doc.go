// Package group is the coordinator of classic consumer groups: membership, rebalances and committed offsets, as Apache
// Kafka 4.4 serves them to JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, OffsetFetch, OffsetDelete,
// DescribeGroups, ListGroups and DeleteGroups.
//
// It holds three layers:
//
//   - Group, a pure state machine: no clock, no goroutine, no I/O. Each event takes the time and returns Effects: answers
//     to send (to this request or to ones that waited) and records to append, each with a continuation for when the
//     append is over. A seed can replay any run.
//   - the record formats of __consumer_offsets (record.go), byte for byte what Kafka writes.
//   - Coordinator, the shell: one shard per partition of __consumer_offsets behind its own lock, one heap of timers for
//     all groups, and the Log that makes records durable.
//
// It does not authorise anybody, does not find coordinators, knows no KIP-848 or share group (their records are skipped
// when a partition is loaded) and takes no TxnOffsetCommit: offsets that a transaction left in the log are kept pending
// until EndTransaction.
//
// # States
//
//	          join                     all joined, or time is up
//	Empty ─────────────▶ PreparingRebalance ────────────▶ CompletingRebalance
//	  ▲                   │   ▲        ▲                        │    │
//	  └───────────────────┘   │        └── join, leave, expiry ─┘    │ leader's sync is durable
//	    nobody is left        └───────────── join, leave, expiry ── Stable
//
//	Empty ──▶ Dead: the group's tombstones are being written; then it is gone.
//
// # Words
//
// A member waits with a join or a sync: its request is parked. A pending member was given an id (MEMBER_ID_REQUIRED)
// and has not come back with it. A static member has a group.instance.id. An offset is durable once the log has it;
// OffsetFetch shows durable ones only, decisions that write look at the latest ones.
//
// # Who may call from where
//
// All methods of Coordinator may be called from any goroutine. Answers are given exactly once, from any goroutine, with
// no lock held; they must not block. A Group has one owner at a time, the shard that holds its lock.
// Lock order: shard, then timers.
//
// # Caveats
//
// A connection that goes away does not cancel its join, as in Kafka: the member leaves when its session ends, and a
// member that never joined before after Config.NewMemberJoinTimeoutMs.
package group
