package api

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/partition"
)

// A new partition needs a log, and a log needs a directory that is not offline. Decisions look at the directories first; one
// may fail while a decision becomes durable, so that what was made is looked at before the answer, too.

// checkStorage refuses new partitions while all log directories are offline.
func (v view) checkStorage() *refusal {
	if v.offline == nil {
		return nil
	}
	return refuse(kerr.KafkaStorageError, "No log directory takes new partitions: %v", v.offline)
}

var errNoLog = errors.New("a log could not be made, and the broker's log says why")

// unmade refuses a topic that is there and of which a log could not be made.
func (b *Broker) unmade(topic string) *refusal {
	if b.Partitions == nil {
		return nil // metadata alone
	}
	t := b.Partitions.ByName(topic)
	if t == nil || !slices.ContainsFunc(t.Partitions(), func(p *partition.Partition) bool { return p.Missing == partition.Unmade }) {
		return nil
	}
	if err := b.Dirs.Err(); err != nil {
		return view{offline: err}.checkStorage()
	}
	return view{offline: errNoLog}.checkStorage()
}

// undoUnmade takes those of new topics back that have no logs, and puts that into their answers.
func (b *Broker) undoUnmade(topics []kmsg.CreateTopicsResponseTopic) {
	var names []string
	for i := range topics {
		if t := &topics[i]; t.ErrorCode == 0 {
			if r := b.unmade(t.Topic); r != nil {
				names = append(names, t.Topic)
				*t = notCreated(t.Topic, r)
			}
		}
	}
	b.takeBack(names)
}

// takeBack removes topics that are of no use, and never one that has records. Where the metadata takes no change any more they stay, and have their logs at
// the next start.
func (b *Broker) takeBack(names []string) {
	if len(names) == 0 {
		return
	}
	err := b.Metadata.Update(b.Stop, func(img *metadata.Image) (undo []metadata.Record, _ error) {
		for _, name := range names {
			if t, ok := img.Topic(name); ok && b.unmade(name) != nil && !b.hasRecords(name) {
				undo = append(undo, metadata.RemoveTopicRecord{ID: t.ID()})
			}
		}
		return undo, nil
	})
	if err != nil && b.Log != nil {
		b.Log.Error("topics whose logs could not be made stay", "topics", len(names), "first", names[0], "error", err)
	}
}

func (b *Broker) hasRecords(topic string) bool {
	t := b.Partitions.ByName(topic)
	return t != nil && slices.ContainsFunc(t.Partitions(), func(p *partition.Partition) bool {
		return p.Missing == partition.Offline || p.Log != nil && p.Log.LogEndOffset() > 0
	})
}

// checkGrown puts it into the answers of topics that some of their partitions have no logs. They have them at the next
// start: a topic cannot shrink.
func (b *Broker) checkGrown(topics []kmsg.CreatePartitionsResponseTopic) {
	for i := range topics {
		if t := &topics[i]; t.ErrorCode == 0 {
			*t = grown(t.Topic, b.unmade(t.Topic))
		}
	}
}
