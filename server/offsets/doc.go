// Package offsets keeps what the group coordinator writes in the topic __consumer_offsets of this broker, and brings it
// back: it is the group.Log of a group.Coordinator over the engine's logs, and its group.Topics over the metadata image.
//
// It knows nothing of groups: what is in the records is the coordinator's business. It does not create the topic, and
// follows the image instead: a topic that appears there is led and loaded, one that goes is given up, and offsets of
// any other topic that goes are forgotten.
//
//	store := offsets.New(offsets.Options{Metadata: node, Partitions: table, Config: groups})
//	// after table.Follow, before the first request:
//	store.Start()
//	store.Coordinator().JoinGroup(…)
//	// before connections are shut down, so that nobody is left waiting for a rebalance:
//	store.Close()
//
// # Life of a partition
//
//	          in the image           all of the log was read
//	absent ─────────────────▶ loading ─────────────────────▶ active
//	  ▲                          │                              │
//	  └──────────────────────────┴── topic removed, Close ──────┘
//
// A partition whose log cannot be read stays in loading and says so in the log: its groups are refused, since an
// answer from a part of the log would be a wrong one.
//
// Lock order: Store.mu, then what the coordinator has. Appends take no lock of the store.
package offsets
