package partition

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
)

// A Table is the topics and partitions of this broker.
type Table struct {
	node   int32
	dirs   *logdir.Set
	static *config.Static
	log    *slog.Logger

	changes sync.Mutex // held while a change is taken in; before placing and mu
	follows bool       // the first image was taken in; guarded by changes

	errands  map[*logdir.Dir]*errands // fixed
	placing  sync.Mutex               // held while the partitions of a topic are replaced; before mu
	patience time.Duration
	onMade   []func(*Partition) // guarded by placing

	mu     sync.RWMutex
	byName map[string]*Topic
	byID   map[[16]byte]*Topic
}

// New returns an empty table: Follow fills it.
func New(node int32, dirs *logdir.Set, static *config.Static, log *slog.Logger) *Table {
	t := &Table{node: node, dirs: dirs, static: static, log: log, byName: map[string]*Topic{}, byID: map[[16]byte]*Topic{},
		errands: map[*logdir.Dir]*errands{}, patience: patience}
	for _, d := range dirs.All() {
		t.errands[d] = &errands{dir: d}
	}
	return t
}

// OnMade has f told of partitions whose log is made from now on, on a goroutine of their directory's.
func (t *Table) OnMade(f func(*Partition)) {
	t.placing.Lock()
	defer t.placing.Unlock()
	t.onMade = append(t.onMade, f)
}

// Follow takes in the image and every change from then on. Logs on the disk of a topic that was removed go: a kill came
// between its removal and theirs. Others that the image has no topic for are left alone: somebody has put them there.
func (t *Table) Follow(m *metadata.Node) error {
	t.changes.Lock() // changes wait until the image that they come after was taken in
	defer t.changes.Unlock()
	img := m.Subscribe(t.changed)
	t.finishDeletions(img)
	for topic := range img.Topics("") {
		t.adopt(topic)
		t.put(img, topic)
	}
	t.settle(0)
	for _, d := range t.dirs.All() {
		for _, l := range d.Logs() {
			if l.Attached() == nil {
				t.log.Warn("a log is of no topic that there is, and is left alone", "log", l.Name(), "dir", d.Path())
				l.SetConfig(engine.Config{KeepAll: true, RetentionAge: -1}) // what its topic's retention was is not known
			}
		}
	}
	t.follows = true
	t.tellMissing()
	return t.dirs.Err()
}

// ByName returns the topic of that name, or nil.
func (t *Table) ByName(name string) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name]
}

// ByNameBytes is ByName for a name that is part of a frame.
func (t *Table) ByNameBytes(name []byte) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[string(name)]
}

// ByID returns the topic of that id, or nil.
func (t *Table) ByID(id [16]byte) *Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// changed takes in one change of the image.
func (t *Table) changed(_, img *metadata.Image, d metadata.Delta) {
	t.changes.Lock()
	defer t.changes.Unlock()
	defer t.settle(t.patience)
	for _, ref := range d.Removed {
		t.remove(ref)
	}
	for _, ref := range slices.Concat(d.Added, d.Changed) {
		if topic, ok := img.TopicByID(ref.ID); ok {
			t.put(img, topic)
		}
	}
	for _, r := range d.Configs {
		t.configure(img, r)
	}
	if len(d.Started) > 0 {
		for topic := range img.Topics("") {
			t.put(img, topic)
		}
	}
}

// adopt gives logs of the topic their topic's id where a crash came before that was on the disk. Only at the start: a
// log without id that turns up later is what a deletion left.
func (t *Table) adopt(mt metadata.Topic) {
	for p := range mt.Partitions() {
		name := engine.Name{Topic: mt.Name(), Partition: p.ID}
		if _, l := t.dirs.Log(name, mt.ID()); l != nil {
			continue
		}
		if _, l := t.dirs.Log(name, [16]byte{}); l != nil {
			l.Adopt(mt.ID())
		}
	}
}

// put makes what is missing of a topic, and brings its leader epochs up to date.
func (t *Table) put(img *metadata.Image, mt metadata.Topic) {
	topic := t.ByID(mt.ID())
	fresh := topic == nil
	if fresh {
		topic = &Topic{Name: mt.Name(), ID: mt.ID(), Internal: mt.Internal()}
		topic.partitions.Store(new([]*Partition))
		topic.config.Store(t.effective(img, mt.Name()))
	}
	t.placing.Lock()
	defer t.placing.Unlock()
	old := topic.Partitions()
	all := append(make([]*Partition, 0, mt.Len()), old...)
	for p := range mt.Partitions() {
		if int(p.ID) >= len(all) {
			all = append(all, t.make(topic, p))
		} else if all[p.ID].Log == nil && old[p.ID].away && p.Leader == t.node {
			all[p.ID] = t.make(topic, p)
		}
		all[p.ID].leader.Store(p.Leader)
		all[p.ID].leaderEpoch.Store(p.LeaderEpoch)
		if all[p.ID].Log != nil {
			all[p.ID].Log.AssignEpoch(p.LeaderEpoch)
		}
	}
	topic.partitions.Store(&all)
	if fresh {
		t.mu.Lock()
		t.byName[topic.Name] = topic
		t.byID[topic.ID] = topic
		t.mu.Unlock()
	}
}

// remove takes a topic away, and has its logs deleted. Who waits for its records is woken and finds it gone.
func (t *Table) remove(ref metadata.TopicRef) {
	t.mu.Lock()
	topic := t.byID[ref.ID]
	delete(t.byID, ref.ID)
	if topic != nil && t.byName[topic.Name] == topic {
		delete(t.byName, topic.Name)
	}
	t.mu.Unlock()
	if topic == nil {
		return
	}
	for _, p := range topic.Partitions() {
		if e := t.errands[p.Dir]; e != nil {
			e.do(func() { t.delete(p.Dir, p.name(), topic.ID) })
		}
		p.wake()
	}
}

// delete deletes a topic's log, where its directory has one.
func (t *Table) delete(d *logdir.Dir, name engine.Name, id [16]byte) {
	l, ok := d.Log(name)
	if !ok || l.TopicID() != id {
		return
	}
	if err := d.Delete(name); err != nil {
		t.log.Error("delete", "log", name, "dir", d.Path(), "error", err)
	}
}

// configure brings the configuration of what a resource covers up to date.
func (t *Table) configure(img *metadata.Image, r metadata.Resource) {
	if r.Type == metadata.ResourceTopic {
		if topic := t.ByName(r.Name); topic != nil {
			t.apply(img, topic)
		}
		return
	}
	if r.Type != metadata.ResourceBroker {
		return
	}
	for _, topic := range t.all() {
		t.apply(img, topic)
	}
}

// all lists the topics.
func (t *Table) all() []*Topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.byID))
}

// WakeAll wakes everybody who waits for records. It holds no lock meanwhile: who is woken looks partitions up, and a
// look-up behind a change that waits for the lock would wait for ever.
func (t *Table) WakeAll() {
	for _, topic := range t.all() {
		for _, p := range topic.Partitions() {
			p.wake()
		}
	}
}

func (t *Table) apply(img *metadata.Image, topic *Topic) {
	topic.config.Store(t.effective(img, topic.Name))
	cfg := engineConfig(topic.Config())
	for _, p := range topic.Partitions() {
		if p.Log != nil {
			p.Log.SetConfig(cfg)
		}
	}
}

// effective works out a topic's configuration.
func (t *Table) effective(img *metadata.Image, name string) *config.Topic {
	return effective(img, name, t.node, t.static)
}

func effective(img *metadata.Image, name string, node int32, static *config.Static) *config.Topic {
	c := config.EffectiveTopic(
		img.Configs(metadata.ResourceTopic, name),
		img.Configs(metadata.ResourceBroker, strconv.Itoa(int(node))),
		img.Configs(metadata.ResourceBroker, ""),
		static)
	return &c
}

// BeforeFollow says how the logs of a topic are to be opened, before there is a Table that follows the metadata: as an image of it says, but
// that nothing is deleted until it is followed.
func BeforeFollow(img *metadata.Image, topic string, node int32, static *config.Static) engine.Config {
	c := engineConfig(effective(img, topic, node, static))
	c.KeepAll = true
	return c
}

// engineConfig says in the engine's words what a topic's configuration is.
func engineConfig(c *config.Topic) engine.Config {
	return engine.Config{
		SegmentBytes:   c.SegmentBytes,
		SegmentAge:     millis(c.SegmentMs),
		IndexBytes:     c.SegmentIndexBytes,
		IndexInterval:  c.IndexIntervalBytes,
		RetentionAge:   least(millis(c.RetentionMs)),
		RetentionBytes: least(c.RetentionBytes),
		KeepAll:        !c.Delete,
		DeleteDelay:    atOnce(millis(c.FileDeleteDelayMs)),
		FlushMessages:  c.FlushMessages,
		FlushInterval:  unlessNever(millis(c.FlushMs)),
		Writer:         writer(c.Writer),
		Rules: record.Rules{
			LogAppendTime:        c.LogAppendTime,
			TimestampBeforeMaxMs: c.TimestampBeforeMaxMs,
			TimestampAfterMaxMs:  c.TimestampAfterMaxMs,
			Compression:          codec(c.CompressionType),
			CompressionLevel:     level(c),
			MaxBatchBytes:        c.MaxMessageBytes,
			Compacted:            c.Compact,
			MaxDecompressedBytes: decompressed(c.MaxMessageBytes),
		},
	}
}

// decompressed caps what the records of a request may decompress to, in bytes, against bombs: 16 times what they may be as
// sent, and no less than the engine's default, which is 64 times Kafka's. Kafka's own max.decompressed.message.bytes is
// about one record, and by default 2 GiB, which is no bound for a machine.
func decompressed(maxMessageBytes int32) int {
	return max(record.DefaultMaxDecompressedBytes, 16*int(maxMessageBytes))
}

// millis turns milliseconds into a duration. Kafka's "for ever" is the greatest number, and stays the greatest.
func millis(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if ms > most {
		return 1<<63 - 1
	}
	return time.Duration(ms) * time.Millisecond
}

// least says "nothing is kept" in the engine's words, where zero is the default.
func least[T time.Duration | int64](v T) T {
	if v == 0 {
		return 1
	}
	return v
}

// unlessNever says "never" in the engine's words, where Kafka has the greatest number.
func unlessNever(d time.Duration) time.Duration {
	const year = 365 * 24 * time.Hour
	if d > year {
		return 0
	}
	return d
}

// atOnce says no delay in the engine's words, where zero is the default.
func atOnce(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func writer(name string) engine.Writer {
	switch name {
	case "buffered":
		return engine.WriterBuffered
	case "direct":
		return engine.WriterDirect
	}
	return engine.WriterAuto
}

func codec(name string) record.Codec {
	if name == "uncompressed" {
		name = "none"
	}
	c, ok := record.ParseCodec(name)
	if !ok {
		panic(fmt.Sprintf("partition: compression type %q passed the table of keys", name))
	}
	return c
}

// level returns the level of the codec that the topic compresses with.
func level(c *config.Topic) int {
	switch c.CompressionType {
	case "gzip":
		return int(max(c.GzipLevel, 0))
	case "lz4":
		return int(c.LZ4Level)
	case "zstd":
		return int(c.ZstdLevel)
	}
	return 0
}
