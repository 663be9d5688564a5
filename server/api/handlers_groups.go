package api

import (
	"github.com/zurau/zurau/server/offsets"
	"github.com/zurau/zurau/server/wire"
)

// groupHandlers are those of offsets, groups and producers.
func (b *Broker) groupHandlers() []wire.Handler {
	return []wire.Handler{
		{Key: 2, Min: 1, Max: 11, Serve: b.listOffsets},
		{Key: 8, Min: 2, Max: 10, Serve: b.offsetCommit},
		{Key: 9, Min: 1, Max: 10, Serve: b.offsetFetch},
		{Key: 10, Min: 0, Max: 6, Serve: b.findCoordinator},
		{Key: 11, Min: 0, Max: 9, Serve: b.joinGroup},
		{Key: 12, Min: 0, Max: 4, Serve: b.heartbeat},
		{Key: 13, Min: 0, Max: 5, Serve: b.leaveGroup},
		{Key: 14, Min: 0, Max: 5, Serve: b.syncGroup},
		{Key: 15, Min: 0, Max: 6, Serve: b.describeGroups},
		{Key: 16, Min: 0, Max: 5, Serve: b.listGroups},
		{Key: 21, Min: 0, Max: 2, Serve: b.deleteRecords},
		{Key: 22, Min: 0, Max: 5, Serve: b.initProducerID},
		{Key: 23, Min: 2, Max: 4, Serve: b.offsetForLeaderEpoch},
		{Key: 35, Min: 1, Max: 5, Blocks: true, Serve: b.describeLogDirs},
		{Key: 42, Min: 0, Max: 3, Serve: b.deleteGroups},
		{Key: 47, Min: 0, Max: 0, Serve: b.offsetDelete},
		{Key: 61, Min: 0, Max: 0, Blocks: true, Serve: b.describeProducers}, // waits for nobody, but has a lot to write
	}
}

// coordinated runs serve when there is a topic that groups can be in: at once where it exists, and the first time
// after it was made. Kafka makes it on FindCoordinator alone, and tells the client to come back; clients that skip that
// request, as tests and small libraries do on one node, would find no coordinator for ever.
//
// Where the topic cannot be made, serve finds a coordinator without partitions, which says NOT_COORDINATOR: the client
// looks for another one, and so tries again.
func (b *Broker) coordinated(serve func()) {
	if _, ok := b.Metadata.Image().Topic(offsets.Topic); ok {
		serve()
		return
	}
	go func() { // an update of the metadata waits for the disk
		if err := b.EnsureInternalTopic(b.Stop, offsets.Topic); err != nil {
			b.Log.Warn("the topic of groups and offsets cannot be made", "topic", offsets.Topic, "error", err)
		}
		serve()
	}()
}
