package partition

import (
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

// make opens or creates a partition's log, unless somebody else leads it or nobody does, or its directory is offline or not here: an empty log in
// another place would answer for records that there are.
func (t *Table) make(topic *Topic, mp metadata.Partition) *Partition {
	p := &Partition{Topic: topic, ID: mp.ID, away: mp.Leader != t.node, Missing: NotLed}
	if p.away {
		return p
	}
	if t.follows {
		p.Missing = Unmade
	}
	name := engine.Name{Topic: topic.Name, Partition: mp.ID}
	cfg := engineConfig(topic.Config())
	d, l := t.dirs.Log(name, topic.ID)
	if l == nil {
		if d = t.placeOf(mp); d == nil || d.Err() != nil {
			return p
		}
		if l = t.create(d, name, topic.ID, cfg); l == nil {
			return p
		}
	}
	l.SetConfig(cfg)
	l.Attach(p)
	p.Log, p.Dir, p.Missing = l, d, 0
	return p
}

// placeOf returns the directory that a partition is in by the metadata, or nil where that is not here. One that was placed nowhere
// may be anywhere, also in a directory that is offline.
func (t *Table) placeOf(mp metadata.Partition) *logdir.Dir {
	id := Directory(mp, t.node)
	if !id.IsZero() {
		return t.dirs.ByID(id)
	}
	if len(t.dirs.Online()) < len(t.dirs.All()) {
		return nil
	}
	return t.dirs.Placer().Next()
}

// Directory returns the log directory of a broker's replica, zero where it was not placed.
func Directory(mp metadata.Partition, node int32) metadata.ID {
	if i := slices.Index(mp.Replicas, node); i >= 0 && i < len(mp.Directories) {
		return mp.Directories[i]
	}
	return metadata.ID{}
}

// create makes an empty log, or returns nil. A folder of that name with another topic's id may be what a deletion left unfinished, or have come
// out of a backup: it is set aside, since nobody can tell that its records are not wanted.
func (t *Table) create(d *logdir.Dir, name engine.Name, id [16]byte, cfg engine.Config) *engine.Log {
	if l, ok := d.Log(name); ok {
		t.log.Warn("a log is of another topic than the one of its name", "log", name, "dir", d.Path(),
			"id", metadata.ID(l.TopicID()), "expected", metadata.ID(id))
		if err := d.SetAside(name); err != nil {
			t.log.Error("set aside", "log", name, "error", err)
			return nil
		}
	}
	l, err := d.Create(name, id, cfg)
	if err != nil {
		t.log.Error("create", "log", name, "error", err)
		return nil
	}
	return l
}

// DirectoryFailed takes the partitions of a directory offline: they have no log from then on, and who waits for their records is
// woken and finds that out.
func (t *Table) DirectoryFailed(d *logdir.Dir) (offline int) {
	t.changes.Lock()
	defer t.changes.Unlock()
	for _, topic := range t.all() {
		var gone []*Partition
		all := slices.Clone(topic.Partitions())
		for i, p := range all {
			if p.Dir == d {
				gone = append(gone, p)
				all[i] = &Partition{Topic: topic, ID: p.ID, Missing: Offline}
				all[i].leaderEpoch.Store(p.LeaderEpoch())
			}
		}
		topic.partitions.Store(&all)
		for _, p := range gone {
			p.wake()
		}
		offline += len(gone)
	}
	return offline
}

// tellMissing says how many partitions have no log because their directory is offline or not here.
func (t *Table) tellMissing() {
	n, first := 0, engine.Name{}
	for _, topic := range t.all() {
		for _, p := range topic.Partitions() {
			if p.Log == nil && !p.away {
				if n == 0 {
					first = engine.Name{Topic: topic.Name, Partition: p.ID}
				}
				n++
			}
		}
	}
	if n > 0 {
		t.log.Error("partitions are offline: the log directories that they are in are offline or not among log.dirs", "partitions", n, "one", first.String())
	}
}
