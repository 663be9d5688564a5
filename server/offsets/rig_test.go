package offsets

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
)

// A rig is a broker without a network on a disk in memory. The disk is what survives it.
type rig struct {
	t      *testing.T
	disk   *fs.Crash
	engine *engine.Engine
	dir    *logdir.Dir
	meta   *metadata.Node
	table  *partition.Table
	store  *Store
}

const dir = "/data"

// newDisk returns a disk with a data directory.
func newDisk(t *testing.T) *fs.Crash {
	disk := fs.NewCrash(1)
	must(t, disk.MkdirAll(dir))
	disk.Settle()
	return disk
}

// start starts a broker; the store is not yet started.
func start(t *testing.T, disk *fs.Crash) *rig {
	t.Helper()
	r := &rig{t: t, disk: disk}
	var err error
	r.dir, err = logdir.Open(metadata.ID{1}, engine.Options{Dir: dir, FS: disk, OnAdvance: partition.Advanced, RetentionInterval: -1, Writers: 1})
	must(t, err)
	r.engine = r.dir.Engine()
	r.meta, err = metadata.Open(metadata.Options{Dir: dir, FS: disk})
	must(t, err)
	r.table = partition.New(0, logdir.New(r.dir), nil, discard)
	must(t, r.table.Follow(r.meta))
	r.store = New(Options{Metadata: r.meta, Partitions: r.table, Config: config.Groups{OffsetsPartitions: 4}, Log: discard})
	t.Cleanup(r.stop)
	return r
}

// run starts a broker and its store, and waits until everything is loaded.
func run(t *testing.T, disk *fs.Crash) *rig {
	t.Helper()
	r := start(t, disk)
	r.store.Start()
	r.loaded()
	return r
}

// loaded waits for the loads that were begun.
func (r *rig) loaded() {
	r.store.mu.Lock()
	last := r.store.mu.last
	r.store.mu.Unlock()
	<-last
}

// stop stops the broker in order. Twice is once.
func (r *rig) stop() {
	if r.store == nil {
		return
	}
	r.store.Close()
	must(r.t, r.engine.Close())
	must(r.t, r.meta.Close())
	r.store = nil
}

// kill returns the disk as a kill -9 leaves it.
func (r *rig) kill() *fs.Crash { return r.disk.Clone(fs.KeepAll) }

// create makes a topic.
func (r *rig) create(name string, partitions int32) metadata.ID {
	r.t.Helper()
	id, err := metadata.NewID(seeds{})
	must(r.t, err)
	r.update(func(*metadata.Image) []metadata.Record {
		records := []metadata.Record{metadata.TopicRecord{ID: id, Name: name, Internal: name == Topic}}
		for i := range partitions {
			records = append(records, metadata.PartitionRecord{Topic: id, Partition: metadata.Partition{
				ID: i, Replicas: []int32{0}, ISR: []int32{0}, Directories: []metadata.ID{{1}},
			}})
		}
		return records
	})
	return id
}

func (r *rig) remove(name string) {
	r.t.Helper()
	r.update(func(img *metadata.Image) []metadata.Record {
		t, _ := img.Topic(name)
		return []metadata.Record{metadata.RemoveTopicRecord{ID: t.ID()}}
	})
}

func (r *rig) update(f func(*metadata.Image) []metadata.Record) {
	r.t.Helper()
	must(r.t, r.meta.Update(context.Background(), func(img *metadata.Image) ([]metadata.Record, error) { return f(img), nil }))
}

// commit commits an offset of partition 0 of a topic, and returns the code.
func (r *rig) commit(group, topic string, offset int64, metadata string) int16 {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 9, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &metadata
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return wait(r, func(done func(int16)) {
		r.store.Coordinator().OffsetCommit(req, func(resp *kmsg.OffsetCommitResponse) { done(resp.Topics[0].Partitions[0].ErrorCode) })
	})
}

// offset is what OffsetFetch says of one partition.
type offset struct {
	at       int64
	metadata string
	code     int16
}

// fetch returns what is committed for partition 0 of a topic; the code is the group's or the partition's.
func (r *rig) fetch(group, topic string) offset {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 9, true
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}}}
	return wait(r, func(done func(offset)) {
		r.store.Coordinator().OffsetFetch(req, func(resp *kmsg.OffsetFetchResponse) {
			if g := resp.Groups[0]; g.ErrorCode != 0 {
				done(offset{-1, "", g.ErrorCode})
			} else {
				p := g.Topics[0].Partitions[0]
				done(offset{p.Offset, *p.Metadata, p.ErrorCode})
			}
		})
	})
}

// groups lists the groups.
func (r *rig) groups() []string {
	names := wait(r, func(done func([]string)) {
		r.store.Coordinator().ListGroups(kmsg.NewPtrListGroupsRequest(), func(resp *kmsg.ListGroupsResponse) {
			names := []string{}
			for _, g := range resp.Groups {
				names = append(names, g.Group)
			}
			done(names)
		})
	})
	slices.Sort(names)
	return names
}

// wait returns what a call answers. That it does not answer is the failure that the time is for.
func wait[T any](r *rig, call func(done func(T))) T {
	r.t.Helper()
	answers := make(chan T, 1)
	call(func(v T) { answers <- v })
	select {
	case v := <-answers:
		return v
	case <-time.After(20 * time.Second):
		r.t.Fatal("no answer")
		panic("unreachable")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// grow adds partitions [from, to).
func (r *rig) grow(id metadata.ID, from, to int32) {
	r.t.Helper()
	r.update(func(*metadata.Image) (records []metadata.Record) {
		for i := from; i < to; i++ {
			records = append(records, metadata.PartitionRecord{Topic: id, Partition: metadata.Partition{
				ID: i, Replicas: []int32{0}, ISR: []int32{0}, Directories: []metadata.ID{{1}},
			}})
		}
		return records
	})
}
