// Package partition joins the metadata image and the engines: for each partition that the image gives this broker it
// holds the log, the leader epoch and the effective configuration, and it wakes who waits for records.
//
// It follows the image (metadata.Node.Subscribe), so that an update of the metadata has returned only when the
// partitions it makes can be produced to and fetched from, and its configs are in force; but for those of a log directory whose disk
// hangs, which have their logs made and deleted behind the updates. Look-ups may be made from
// anywhere and take no lock that is held for long; changes come from the image alone, one after the other.
package partition
