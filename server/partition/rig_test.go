package partition

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

// A rig is a table between an engine and a metadata node, on a disk in memory. The disk is what survives it.
type rig struct {
	t      *testing.T
	disk   *fs.Crash
	log    *bytes.Buffer
	engine *engine.Engine
	dir    *logdir.Dir
	meta   *metadata.Node
	table  *Table
}

const dir = "/data"

func newRig(t *testing.T) *rig {
	t.Helper()
	disk := fs.NewCrash(1)
	if err := disk.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, disk: disk, log: new(bytes.Buffer)}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	r.t.Helper()
	log := slog.New(slog.NewTextHandler(r.log, nil))
	var err error
	r.dir, err = logdir.Open(metadata.ID{1}, engine.Options{Dir: dir, FS: r.disk, OnAdvance: Advanced, RetentionInterval: -1, Writers: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.engine = r.dir.Engine()
	r.openMetadata()
	r.table = New(0, logdir.New(r.dir), nil, log)
	if err := r.table.Follow(r.meta); err != nil {
		r.t.Fatal(err)
	}
}

// openMetadata opens the metadata alone: what is changed then, no log hears of.
func (r *rig) openMetadata() {
	r.t.Helper()
	var err error
	if r.meta, err = metadata.Open(metadata.Options{Dir: dir, FS: r.disk}); err != nil {
		r.t.Fatal(err)
	}
}

// stop stops in order. Twice is once.
func (r *rig) stop() {
	if r.engine == nil {
		return
	}
	if err := r.engine.Close(); err != nil {
		r.t.Error(err)
	}
	if err := r.meta.Close(); err != nil {
		r.t.Error(err)
	}
	r.engine = nil
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *rig) update(records ...metadata.Record) {
	r.t.Helper()
	err := r.meta.Update(r.t.Context(), func(*metadata.Image) ([]metadata.Record, error) { return records, nil })
	if err != nil {
		r.t.Fatal(err)
	}
}

// create makes a topic with that id, of n partitions.
func (r *rig) create(name string, id byte, n int32) *Topic {
	r.t.Helper()
	records := []metadata.Record{metadata.TopicRecord{ID: metadata.ID{id}, Name: name}}
	for p := range n {
		records = append(records, partitionRecord(id, p))
	}
	r.update(records...)
	topic := r.table.ByName(name)
	if topic == nil || topic.ID != [16]byte{id} || len(topic.Partitions()) != int(n) {
		r.t.Fatalf("after its creation, %s is %+v", name, topic)
	}
	return topic
}

func partitionRecord(id byte, p int32) metadata.Record {
	return metadata.PartitionRecord{Topic: metadata.ID{id}, Partition: metadata.Partition{ID: p, Replicas: []int32{0}, ISR: []int32{0}}}
}

func topicConfig(name, key, value string) metadata.Record {
	return metadata.ConfigRecord{Resource: metadata.Resource{Type: metadata.ResourceTopic, Name: name}, Key: key, Value: value}
}

// append appends a record and waits until it can be read.
func (r *rig) append(p *Partition, value string) engine.Appended {
	r.t.Helper()
	var prep record.Prepared
	rules := p.Log.Config().Rules
	rules.Now = 1
	if err := prep.Prepare(record.NewBuilder(record.None).Add(1, []byte("k"), []byte(value)).Bytes(), rules); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan engine.Appended, 1)
	p.Log.Append(&prep, p.LeaderEpoch(), func(a engine.Appended) { done <- a })
	return <-done
}

// A bell is a waiter that tells by whom it was woken.
type bell chan *Partition

func (b bell) Wake(p *Partition) { b <- p }

// A looker is a waiter that does what a fetch does: it looks partitions up, and waits again.
type looker struct {
	table *Table
	name  string
	once  sync.Once
	woken chan struct{}
}

func (l *looker) Wake(p *Partition) {
	l.table.ByName(l.name)
	p.Await(l)
	l.table.ByName(l.name)
	l.once.Do(func() { close(l.woken) })
}
