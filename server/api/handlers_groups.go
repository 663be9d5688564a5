package api

import "github.com/zurau/zurau/server/wire"

// groupHandlers are those of offsets, groups and producer ids.
func (b *Broker) groupHandlers() []wire.Handler { return nil }
