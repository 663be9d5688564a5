package api

import (
	"slices"

	"github.com/zurau/zurau/server/wire"
)

// handlers lists the APIs, in the order of their keys.
func (b *Broker) handlers() []wire.Handler {
	all := slices.Concat(b.recordHandlers(), b.topicHandlers(), b.groupHandlers(), b.securityHandlers())
	slices.SortFunc(all, func(x, y wire.Handler) int { return int(x.Key) - int(y.Key) })
	return all
}

// recordHandlers are those of the hot paths, and ApiVersions.
func (b *Broker) recordHandlers() []wire.Handler {
	return []wire.Handler{
		{Key: 0, Min: 3, Max: 13, Overlaps: true, Serve: b.produce},
		{Key: 1, Min: 4, Max: 18, Overlaps: true, Serve: b.fetch},
		{Key: 18, Min: 0, Max: 5, Serve: b.apiVersions},
	}
}
