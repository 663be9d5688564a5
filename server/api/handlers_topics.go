package api

import "github.com/zurau/zurau/server/wire"

// topicHandlers are those of topics, configs and the cluster.
func (b *Broker) topicHandlers() []wire.Handler {
	return []wire.Handler{
		{Key: 3, Min: 0, Max: 13, Serve: b.metadata}, // waits on a goroutine of its own where it creates topics
		{Key: 19, Min: 2, Max: 7, Blocks: true, Serve: b.createTopics},
		{Key: 20, Min: 1, Max: 6, Blocks: true, Serve: b.deleteTopics},
		{Key: 32, Min: 1, Max: 4, Blocks: true, Serve: b.describeConfigs}, // waits for nobody, but has a lot to write
		{Key: 33, Min: 0, Max: 2, Blocks: true, Serve: b.alterConfigs},
		{Key: 37, Min: 0, Max: 3, Blocks: true, Serve: b.createPartitions},
		{Key: 44, Min: 0, Max: 1, Blocks: true, Serve: b.incrementalAlterConfigs},
		{Key: 60, Min: 0, Max: 2, Serve: b.describeCluster},
		{Key: 75, Min: 0, Max: 0, Serve: b.describeTopicPartitions},
	}
}
