package logfile

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
	"github.com/zurau/zurau/engine/producer"
)

// snapshot gives the producers of a snapshot.
func (d *Dump) snapshot(b []byte) error {
	state := producer.New()
	if err := state.Unmarshal(b); err != nil {
		return d.bad(0, int64(len(b)), err)
	}
	more := map[int64]snapshotEntry{}
	for at := snapshotHeader; at+snapshotWidth <= len(b); at += snapshotWidth {
		e := snapshotEntryOf(b[at:])
		more[e.producerID] = e
	}
	for _, p := range state.Producers() {
		e := more[p.ID]
		item := ProducerItem{"producer", p.ID, p.Epoch, p.LastSequence, e.lastOffset, e.delta, p.LastTimestamp, p.CoordinatorEpoch, p.CurrentTxnStartOffset}
		if err := d.Give(item); err != nil {
			return err
		}
	}
	return nil
}

// guard gives the pieces in a guard, in the order of their positions.
func (d *Dump) guard(b []byte, base int64) error {
	g := guard.Decode(b, base)
	for _, p := range g.Pieces {
		if err := d.Give(GuardItem{"piece", p.Start, p.End, p.Batches, p.First, fmt.Sprintf("%08x", p.Sum)}); err != nil {
			return err
		}
	}
	if g.Bad > 0 {
		return d.bad(0, int64(len(b)), fmt.Errorf("%d of %s torn or garbage", g.Bad, count(g.Slots, "slot", "slots")))
	}
	return nil
}

// small gives what is in a text file.
func (d *Dump) small(kind Kind, name string, b []byte) error {
	items, err := smallItems(kind, name, b)
	if err != nil {
		return d.bad(0, int64(len(b)), err)
	}
	for _, i := range items {
		if err := d.Give(i); err != nil {
			return err
		}
	}
	return nil
}

// smallItems reads a text file. Its format is package checkpoint's.
func smallItems(kind Kind, name string, b []byte) (items []Item, err error) {
	dir := filepath.Dir(name)
	switch kind {
	case OffsetCheckpoint:
		entries, err := checkpoint.ReadOffsets(fs.OS(), name)
		for _, e := range entries {
			items = append(items, CheckpointItem{"checkpoint", e.Topic, e.Partition, e.Offset})
		}
		return items, err
	case RecoveryPoints:
		entries, err := parseRecovery(b)
		for _, e := range entries {
			items = append(items, e)
		}
		return items, err
	case LeaderEpochs:
		epochs, err := checkpoint.ReadLeaderEpochs(fs.OS(), dir)
		if err != nil {
			return nil, err
		}
		for _, e := range epochs.Entries() {
			items = append(items, EpochItem{"epoch", e.Epoch, e.StartOffset})
		}
		return items, nil
	case PartitionMetadata:
		id, err := checkpoint.ReadTopicID(fs.OS(), dir)
		return []Item{ValueItem{"value", "topic id", checkpoint.FormatID(id)}}, err
	case CleanShutdown:
		epoch, _, err := checkpoint.ReadCleanShutdown(fs.OS(), dir)
		return []Item{ValueItem{"value", "broker epoch", strconv.FormatInt(epoch, 10)}}, err
	case Meta:
		m, err := checkpoint.ReadMeta(fs.OS(), dir)
		return []Item{ValueItem{"value", "cluster id", m.ClusterID}, ValueItem{"value", "node id", fmt.Sprint(m.NodeID)},
			ValueItem{"value", "directory id", checkpoint.FormatID(m.DirectoryID)}}, err
	}
	return []Item{ValueItem{"value", "text", strings.TrimSpace(string(b))}}, nil
}
