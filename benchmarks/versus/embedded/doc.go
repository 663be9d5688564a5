// Command embedded measures what a Go program can embed today to append durably, beside zurau's engine: raft-wal, Pebble, bbolt,
// tidwall/wal and NATS JetStream in process, each with a flush before it answers, and JetStream and the engine also without one.
//
//	go run ./benchmarks/versus embedded [--rounds N] [--secs N] [--dir DIR] [--stores a,b] [--quick] [--check] [--markdown]
//
// A row is a number of writers and a size of value; each writer makes its next append when the one before is answered. Every trial
// is a process of its own on a fresh folder: warmed up until its rate is steady, measured once, removed. Stores come in turn, and in the other
// order in every second round. Ratios are made within a round.
//
// The engine's part has what an embedder does for each append: a record batch is built of the value, checked, and appended to one log. The others
// get the value as they take it, bbolt by Batch, which is its way of sharing flushes; stores whose indexes must come in order
// (raft-wal, tidwall/wal) have a mutex around them, as their users have.
//
// It is a module of its own, so that who embeds the engine does not get five other stores with it.
package main
