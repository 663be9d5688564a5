package api

// ListOffsets (key 2), versions 1 to 11.
//
// Behaviours that matter:
//   - a time of 0 or later asks for the first record at or after it; negative ones have a meaning of their own:
//     -1 latest, -2 earliest, -3 (v7) the record with the greatest time, -4 (v8) earliest on this broker, -5 (v9) latest
//     that is tiered, -6 (v11) earliest that waits for being tiered. In a version that does not know it, or never heard
//     of, a negative time is UNSUPPORTED_VERSION
//   - no such record is no error: offset -1, time -1. Nothing is tiered here, so -5 and -6 find nothing
//   - latest is the high watermark for consumers, with read_committed the last stable offset, and the log end offset for
//     followers and debugging consumers. What a look-up by time finds at or beyond it is not found
//   - an isolation level that there is none of is UNKNOWN_SERVER_ERROR, as in Kafka
//   - from v4 on answers have the leader epoch of the record, or of whom the next record will be by
//   - a current leader epoch that is not the partition's is FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH
//   - a partition that a request names twice is INVALID_REQUEST, answered once
//   - look-ups by time may read from the disk: they run on workers

import (
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// The times with a meaning of their own.
const (
	latestTime        = -1
	earliestTime      = -2
	greatestTime      = -3
	earliestLocalTime = -4
	latestTieredTime  = -5
	earliestUntiered  = -6
)

// timeSince is the version that a negative time came with.
var timeSince = [...]int16{-latestTime: 1, -earliestTime: 1, -greatestTime: 7, -earliestLocalTime: 8, -latestTieredTime: 9, -earliestUntiered: 11}

// consumerReplica is the replica id of a consumer. Others are followers, and debugging consumers, which see what is
// not replicated.
const consumerReplica = -1

func (b *Broker) listOffsets(r *wire.Request) error {
	req := kmsg.NewPtrListOffsetsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	if dirs := b.searched(req); dirs != 0 {
		b.readers.do(dirs, func() { r.Reply(b.offsetsFor(req)) })
		return nil
	}
	r.Reply(b.offsetsFor(req))
	return nil
}

// searched returns the directories that a request may have to read from.
func (b *Broker) searched(req *kmsg.ListOffsetsRequest) (dirs dirSet) {
	for i := range req.Topics {
		topic := b.Partitions.ByName(req.Topics[i].Topic)
		for j := range req.Topics[i].Partitions {
			p := &req.Topics[i].Partitions[j]
			if topic == nil || p.Timestamp < 0 && p.Timestamp != greatestTime {
				continue
			}
			if at := topic.Partition(p.Partition); at != nil {
				dirs |= b.setOf(at.Dir)
			}
		}
	}
	return dirs
}

// offsetsFor answers the request. Each partition has one answer, however often it was asked for.
func (b *Broker) offsetsFor(req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	asked := timesAsked(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		topic := b.Partitions.ByName(t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := numbered{t.Topic, p.Partition}
			n := asked[key]
			if n == 0 {
				continue // answered before
			}
			asked[key] = 0
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = p.Partition
			switch {
			case req.IsolationLevel < 0 || req.IsolationLevel > 1:
				rp.ErrorCode = kerr.UnknownServerError.Code
			case n > 1:
				rp.ErrorCode = kerr.InvalidRequest.Code
			default:
				offsetFor(req, topic, p, &rp)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

// numbered names a partition of a topic.
type numbered struct {
	topic     string
	partition int32
}

// timesAsked counts how often a request names each partition.
func timesAsked(req *kmsg.ListOffsetsRequest) map[numbered]int {
	asked := make(map[numbered]int)
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			asked[numbered{req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition}]++
		}
	}
	return asked
}

// offsetFor fills in the answer for one partition.
func offsetFor(req *kmsg.ListOffsetsRequest, topic *partition.Topic, p *kmsg.ListOffsetsRequestTopicPartition, into *kmsg.ListOffsetsResponseTopicPartition) {
	if t := p.Timestamp; t < 0 && (-t >= int64(len(timeSince)) || -t < 0 || req.Version < timeSince[-t]) {
		into.ErrorCode = kerr.UnsupportedVersion.Code
		return
	}
	at, code := partitionAt(topic, p.Partition, p.CurrentLeaderEpoch)
	if code != 0 {
		into.ErrorCode = code
		return
	}
	found, err := offsetAt(at, p.Timestamp, endFor(at.Log, req))
	if err != nil {
		into.ErrorCode = readCode(err)
		return
	}
	into.Timestamp, into.Offset, into.LeaderEpoch = found.Timestamp, found.Offset, found.LeaderEpoch
}

// partitionAt finds a partition that a client asks for in a leader epoch that it believes in, or the code for why not.
func partitionAt(topic *partition.Topic, index, epoch int32) (*partition.Partition, int16) {
	if topic == nil {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	p := topic.Partition(index)
	switch {
	case p == nil:
		return nil, kerr.UnknownTopicOrPartition.Code
	case p.Log == nil:
		return nil, noLog(p)
	}
	if code := checkEpoch(p, epoch); code != 0 {
		return nil, code
	}
	return p, 0
}

// endFor returns where the log ends for who asks.
func endFor(l *engine.Log, req *kmsg.ListOffsetsRequest) int64 {
	switch {
	case req.ReplicaID != consumerReplica:
		return l.LogEndOffset()
	case req.IsolationLevel == 1:
		return l.LastStableOffset()
	}
	return l.HighWatermark()
}

// offsetAt looks a time up in a log, which ends at an offset for who asks.
func offsetAt(p *partition.Partition, time, end int64) (engine.TimeOffset, error) {
	found := engine.TimeOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	err := p.Log.Unreadable()
	switch time {
	case latestTime:
		found.Offset, found.LeaderEpoch = end, p.LeaderEpoch()
	case earliestTime, earliestLocalTime:
		found.Offset = p.Log.LogStartOffset()
		found.LeaderEpoch = p.Log.EpochAt(found.Offset)
	case latestTieredTime, earliestUntiered:
	case greatestTime:
		found, err = p.Log.MaxTimestamp()
	default:
		found, err = p.Log.OffsetForTime(time)
	}
	if errors.Is(err, io.EOF) {
		err = nil // the record was deleted meanwhile
	}
	if (time >= 0 || time == greatestTime) && found.Offset >= end {
		found = engine.TimeOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	}
	return found, err
}
