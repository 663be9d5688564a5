package kraft

import (
	"errors"
	"fmt"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/replication/metadata/decode"
)

// ErrNewer means that a record is of a kind, or in a version, that Kafka 4.4 does not have. What it says is not known,
// and a state without it might be a wrong one.
var ErrNewer = errors.New("written by a newer version of Apache Kafka")

// frameVersion is the first byte of every record.
const frameVersion = 1

// The kinds of records: apiKey in Kafka's schemas (metadata/src/main/resources/common/metadata).
const (
	kindRegisterBroker     = 0
	kindUnregisterBroker   = 1
	kindTopic              = 2
	kindPartition          = 3
	kindConfig             = 4
	kindPartitionChange    = 5
	kindFenceBroker        = 7
	kindUnfenceBroker      = 8
	kindRemoveTopic        = 9
	kindDelegationToken    = 10
	kindScram              = 11
	kindFeatureLevel       = 12
	kindClientQuota        = 14
	kindProducerIDs        = 15
	kindBrokerChange       = 17
	kindACL                = 18
	kindRemoveACL          = 19
	kindNoOp               = 20
	kindZkMigration        = 21
	kindRemoveScram        = 22
	kindBeginTransaction   = 23
	kindEndTransaction     = 24
	kindAbortTransaction   = 25
	kindRemoveToken        = 26
	kindRegisterController = 27
	kindClearELR           = 28
	kindUnregisterControl  = 29
)

// newest is the newest version of each kind that is read.
var newest = map[uint64]uint64{
	kindRegisterBroker: 4, kindUnregisterBroker: 0, kindTopic: 0, kindPartition: 2, kindConfig: 0, kindPartitionChange: 2,
	kindFenceBroker: 0, kindUnfenceBroker: 0, kindRemoveTopic: 0, kindDelegationToken: 0, kindScram: 0, kindFeatureLevel: 0,
	kindClientQuota: 0, kindProducerIDs: 0, kindBrokerChange: 3, kindACL: 0, kindRemoveACL: 0, kindNoOp: 0, kindZkMigration: 0,
	kindRemoveScram: 0, kindBeginTransaction: 0, kindEndTransaction: 0, kindAbortTransaction: 0, kindRemoveToken: 0,
	kindRegisterController: 0, kindClearELR: 0, kindUnregisterControl: 0,
}

// open reads what stands before a record's fields.
func open(value []byte) (kind, version uint64, f *fields, err error) {
	f = &fields{decode.Fields{B: value}}
	frame := f.uvarint()
	kind, version = f.uvarint(), f.uvarint()
	if f.Err != nil {
		return 0, 0, nil, f.Err
	}
	most, known := newest[kind]
	switch {
	case frame != frameVersion:
		return 0, 0, nil, fmt.Errorf("frame version %d, expected %d: %w", frame, frameVersion, ErrNewer)
	case !known:
		return 0, 0, nil, fmt.Errorf("kind %d is unknown: %w", kind, ErrNewer)
	case version > most:
		return 0, 0, nil, fmt.Errorf("kind %d, version %d, expected at most %d: %w", kind, version, most, ErrNewer)
	}
	return kind, version, f, nil
}

// A Partition is one partition as Kafka's controller knew it.
type Partition struct {
	Leader, LeaderEpoch, PartitionEpoch int32
	Replicas, ISR                       []int32
	Eligible                            []int32       // to lead though not in sync (KIP-966)
	Directories                         []metadata.ID // of each replica; empty before Kafka 3.7
}

// partition reads a partition record.
func (f *fields) partition(version uint64) (number int32, topic metadata.ID, p Partition) {
	number, topic = f.int32(), f.id()
	p.Replicas, p.ISR = f.int32s(), f.int32s()
	f.int32s() // being removed
	f.int32s() // being added
	p.Leader, p.LeaderEpoch, p.PartitionEpoch = f.int32(), f.int32(), f.int32()
	if version >= 1 {
		p.Directories = f.ids()
	}
	f.tagged(func(tag uint64, f *fields) {
		if tag == 1 {
			p.Eligible = f.int32s()
		}
	})
	return number, topic, p
}

// change reads a partition change record and makes the change. Every change raises the partition epoch, and one that names
// a leader, the same one even, the leader epoch.
func (f *fields) change(find func(topic metadata.ID, number int32) *Partition) error {
	number, topic := f.int32(), f.id()
	p := find(topic, number)
	if p == nil && f.Err == nil {
		return fmt.Errorf("change of partition %d of topic id %s: no such partition", number, topic)
	}
	next := Partition{Leader: noLeaderChange}
	f.tagged(func(tag uint64, f *fields) {
		switch tag {
		case 0:
			next.ISR = f.int32s()
		case 1:
			next.Leader = f.int32()
		case 2:
			next.Replicas = f.int32s()
		case 6:
			next.Eligible = f.int32s()
		case 8:
			next.Directories = f.ids()
		}
	})
	if f.Err != nil {
		return f.Err
	}
	p.merge(next)
	return nil
}

func (p *Partition) merge(next Partition) {
	p.PartitionEpoch++
	if next.Leader != noLeaderChange {
		p.Leader = next.Leader
		p.LeaderEpoch++
	}
	p.ISR = orBefore(next.ISR, p.ISR)
	p.Eligible = orBefore(next.Eligible, p.Eligible)
	p.Replicas = orBefore(next.Replicas, p.Replicas)
	p.Directories = orBefore(next.Directories, p.Directories)
}

// orBefore returns what a change names, or what was before: an empty list is a change, null is none.
func orBefore[T any](next, before []T) []T {
	if next == nil {
		return before
	}
	return next
}

// noLeaderChange stands where a change record names no leader.
const noLeaderChange = -2

// quota reads a client quota record: a text that names what it is about, and whether it is removed.
func (f *fields) quota() (what string, remove bool) {
	n, _ := f.count(3)
	for range n {
		kind := f.string()
		name, named := f.nullable()
		if !named {
			name = "<default>"
		}
		what += kind + "=" + name + " "
		f.untagged()
	}
	what += f.string()
	f.int64() // the value
	remove = f.bool()
	f.untagged()
	return what, remove
}
