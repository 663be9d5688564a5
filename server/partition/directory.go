package partition

import (
	"slices"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

// make finds a partition's log or has it made, unless somebody else leads it or nobody does, or its directory is offline or not here: an empty
// log in another place would answer for records that there are.
func (t *Table) make(topic *Topic, mp metadata.Partition) *Partition {
	p := &Partition{Topic: topic, ID: mp.ID, away: mp.Leader != t.node, Missing: NotLed}
	if p.away {
		return p
	}
	if d, l := t.dirs.Log(p.name(), topic.ID); l != nil {
		l.SetConfig(engineConfig(topic.Config()))
		l.Attach(p)
		p.Log, p.Dir, p.Missing = l, d, 0
		return p
	}
	without := p.Missing
	if t.follows {
		without = Unmade
	}
	if d := t.placeOf(mp); d != nil && d.Err() == nil {
		p.Dir, p.Missing = d, Making
		t.errands[d].do(func() { t.fill(p, without) })
		return p
	}
	p.Missing = without
	return p
}

// fill makes the log of a partition and puts one with it in the partition's place; without says what is missing where that fails.
func (t *Table) fill(p *Partition, without Missing) {
	l := t.create(p.Dir, p.name(), p.Topic.ID, engineConfig(p.Topic.Config()))
	q := &Partition{Topic: p.Topic, ID: p.ID, Missing: without}
	if l != nil {
		q.Log, q.Dir, q.Missing = l, p.Dir, 0
		l.Attach(q)
	}
	told, ok := t.replace(p, q)
	if !ok || l == nil {
		return
	}
	l.SetConfig(engineConfig(p.Topic.Config())) // it may have changed before anybody saw the log
	for _, f := range told {
		f(q)
	}
}

// replace puts a partition in the place of another one, unless that is not there any more. It returns who is to be told.
func (t *Table) replace(p, q *Partition) (told []func(*Partition), ok bool) {
	t.placing.Lock()
	defer t.placing.Unlock()
	all := slices.Clone(p.Topic.Partitions())
	if int(p.ID) >= len(all) || all[p.ID] != p {
		return nil, false
	}
	q.leader.Store(p.Leader())
	q.leaderEpoch.Store(p.LeaderEpoch())
	if q.Log != nil {
		q.Log.AssignEpoch(p.LeaderEpoch())
	}
	all[p.ID] = q
	p.Topic.partitions.Store(&all)
	return t.onMade, true
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
	gone := t.takeOffline(d)
	for _, p := range gone {
		p.wake()
	}
	return len(gone)
}

// takeOffline replaces the partitions of a directory, which it returns, by such without a log.
func (t *Table) takeOffline(d *logdir.Dir) (gone []*Partition) {
	t.placing.Lock()
	defer t.placing.Unlock()
	for _, topic := range t.all() {
		all := slices.Clone(topic.Partitions())
		for i, p := range all {
			if p.Dir == d {
				gone = append(gone, p)
				all[i] = &Partition{Topic: topic, ID: p.ID, Missing: Offline}
				all[i].leaderEpoch.Store(p.LeaderEpoch())
			}
		}
		topic.partitions.Store(&all)
	}
	return gone
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
