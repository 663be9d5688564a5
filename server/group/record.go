package group

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Records of __consumer_offsets. Integers are big endian; STRING is an int16 length and bytes, COMPACT STRING an
// unsigned varint of length+1 and bytes. Keys start with a version that says what the record is about:
//
//	0, 1  an offset:  version int16 | group STRING | topic STRING | partition int32
//	2     a group:    version int16 | group STRING
//	3 …   KIP-848, share and streams groups: not ours, skipped
//
// Values, as Kafka 4.4 writes them (older versions are read too; null is a tombstone):
//
//	offset v4:  int16 4 | offset int64 | leader epoch int32 | metadata COMPACT STRING | commit time int64 | tags,
//	            tag 0 = topic id, 16 bytes, absent when zero
//	offset v1:  int16 1 | offset int64 | metadata STRING | commit time int64 | expire time int64; only where an
//	            OffsetCommit v2–v4 named a retention time
//	group v3:   int16 3 | protocol type STRING | generation int32 | protocol, leader NULLABLE STRING |
//	            time of the state int64 | members: id STRING, instance NULLABLE STRING, client id, client host STRING,
//	            rebalance, session timeout int32, subscription, assignment BYTES
const (
	offsetKeyVersion         = 1
	groupKeyVersion          = 2
	offsetValueVersion       = 4
	offsetExpireValueVersion = 1
	groupValueVersion        = 3
	// The newest versions that are read.
	maxOffsetValueVersion = 4
	maxGroupValueVersion  = 4
)

// Record is one record of __consumer_offsets. A nil Value is a tombstone.
type Record struct{ Key, Value []byte }

// errUnknownRecord is the error of records that are about something else than classic groups. They can be skipped; an
// offset that cannot be read must not be: without it a consumer would start over.
var errUnknownRecord = errors.New("record of an unknown kind")

// offset is a committed offset.
type offset struct {
	offset      int64
	leaderEpoch int32 // -1: not known
	metadata    string
	committedAt int64 // wall ms
	expireAt    int64 // wall ms; -1: by the retention of the broker
	topicID     [16]byte
}

func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyVersion, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(nil)
}

func offsetRecord(group, topic string, partition int32, o *offset) Record {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.Metadata = offsetValueVersion, o.offset, o.leaderEpoch, o.metadata
	v.CommitTimestamp, v.TopicID = o.committedAt, o.topicID
	if o.expireAt >= 0 {
		v.Version, v.ExpireTimestamp = offsetExpireValueVersion, o.expireAt
	}
	return Record{Key: offsetKey(group, topic, partition), Value: v.AppendTo(nil)}
}

func offsetTombstone(group, topic string, partition int32) Record {
	return Record{Key: offsetKey(group, topic, partition)}
}

func groupKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: group}
	return k.AppendTo(nil)
}

func groupRecord(group string, v *kmsg.GroupMetadataValue) Record {
	v.Version = groupValueVersion
	return Record{Key: groupKey(group), Value: v.AppendTo(nil)}
}

func groupTombstone(group string) Record { return Record{Key: groupKey(group)} }

// decoded is a record of ours: topic is set for an offset, and of its two values one at most.
type decoded struct {
	group     string
	isOffset  bool
	topic     string
	partition int32
	offset    *offset                  // nil: tombstone
	metadata  *kmsg.GroupMetadataValue // nil: tombstone
}

// decode reads a record. Its error wraps errUnknownRecord where the record is none of ours. The result aliases r.
func decode(r Record) (decoded, error) {
	if len(r.Key) < 2 {
		return decoded{}, fmt.Errorf("decode key of %d bytes: too short for a version", len(r.Key))
	}
	switch version := int16(binary.BigEndian.Uint16(r.Key)); version {
	case 0, 1:
		return decodeOffset(r)
	case groupKeyVersion:
		return decodeGroup(r)
	default:
		return decoded{}, fmt.Errorf("decode key version %d: %w", version, errUnknownRecord)
	}
}

func decodeOffset(r Record) (decoded, error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(r.Key); err != nil {
		return decoded{}, fmt.Errorf("decode key of an offset: %w", err)
	}
	d := decoded{group: k.Group, isOffset: true, topic: k.Topic, partition: k.Partition}
	if r.Value == nil {
		return d, nil
	}
	if err := checkValueVersion(r.Value, maxOffsetValueVersion); err != nil {
		return decoded{}, fmt.Errorf("decode offset of %q for %s-%d: %w", k.Group, k.Topic, k.Partition, err)
	}
	v := kmsg.NewOffsetCommitValue()
	if err := v.ReadFrom(r.Value); err != nil {
		return decoded{}, fmt.Errorf("decode offset of %q for %s-%d: %w", k.Group, k.Topic, k.Partition, err)
	}
	d.offset = &offset{
		offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata,
		committedAt: v.CommitTimestamp, expireAt: v.ExpireTimestamp, topicID: v.TopicID,
	}
	if v.Version < 3 {
		d.offset.leaderEpoch = -1 // not in these versions: not known
	}
	if v.Version != offsetExpireValueVersion {
		d.offset.expireAt = -1
	}
	return d, nil
}

func decodeGroup(r Record) (decoded, error) {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return decoded{}, fmt.Errorf("decode key of a group: %w", err)
	}
	d := decoded{group: k.Group}
	if r.Value == nil {
		return d, nil
	}
	if err := checkValueVersion(r.Value, maxGroupValueVersion); err != nil {
		return decoded{}, fmt.Errorf("decode group %q: %w", k.Group, err)
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(r.Value); err != nil {
		return decoded{}, fmt.Errorf("decode group %q: %w", k.Group, err)
	}
	if v.Version < 2 {
		v.CurrentStateTimestamp = -1
	}
	d.metadata = &v
	return d, nil
}

func checkValueVersion(b []byte, newest int16) error {
	if len(b) < 2 {
		return fmt.Errorf("value of %d bytes: too short for a version", len(b))
	}
	if v := int16(binary.BigEndian.Uint16(b)); v < 0 || v > newest {
		return fmt.Errorf("value version %d, newest known %d", v, newest)
	}
	return nil
}
