package api

import "github.com/zurau/zurau/server/wire"

// topicHandlers are those of topics, configs and the cluster.
func (b *Broker) topicHandlers() []wire.Handler { return nil }
