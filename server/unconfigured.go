package server

import (
	"sync"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/partition"
)

// opener returns what says how logs are to be opened. The metadata is opened behind the directories, and one that has recovered may wait for
// long until the last one has: an engine's defaults, which delete what is older than a week, must not be in force meanwhile; and indexes that are
// made again have the interval that their topic has. So the files of the metadata are looked at first. Where they cannot be read, the start
// is about to be refused; where they are not there, they are about to be made.
func (s *Server) opener(static *config.Static) func(engine.Name) engine.Config {
	img, err := metadata.Peek(fs.OS(), s.metaDir)
	if err != nil {
		img = new(metadata.Image)
	}
	var mu sync.Mutex
	known := map[string]engine.Config{} // a topic's partitions are many
	return func(n engine.Name) engine.Config {
		mu.Lock()
		defer mu.Unlock()
		c, ok := known[n.Topic]
		if !ok {
			c = partition.BeforeFollow(img, n.Topic, s.cfg.NodeID, static)
			if c.Check() != nil { // an engine would not open; to be told what it does not know is no reason for that
				c = engine.Config{KeepAll: true}
			}
			known[n.Topic] = c
		}
		return c
	}
}
