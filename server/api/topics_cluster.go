package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/partition"
)

// A vantage is the cluster as the clients of one listener see it: brokers at the addresses that they have for that
// listener. A broker without one is not there for them.
type vantage struct {
	img   *metadata.Image
	nodes []node // by id, fenced ones too
	alive map[int32]bool
}

// A node is a broker at one of its addresses.
type node struct {
	id     int32
	host   string
	port   int32
	rack   *string // nil: none
	fenced bool
}

func newVantage(img *metadata.Image, listener string) *vantage {
	v := &vantage{img: img, alive: map[int32]bool{}}
	for _, b := range img.Brokers() {
		for _, e := range b.Endpoints {
			if e.Name != listener {
				continue
			}
			n := node{id: b.ID, host: e.Host, port: int32(e.Port), fenced: b.Fenced}
			if b.Rack != "" {
				n.rack = &b.Rack
			}
			v.nodes = append(v.nodes, n)
			v.alive[b.ID] = !b.Fenced
		}
	}
	return v
}

// controller returns the broker to which clients send what changes the metadata: this one where it takes changes, else
// any. -1 is none.
func (v *vantage) controller(this int32, leads bool) int32 {
	if leads && v.alive[this] {
		return this
	}
	for _, n := range v.nodes {
		if !n.fenced {
			return n.id
		}
	}
	return -1
}

// known leaves the brokers out that are not there.
func (v *vantage) known(ids []int32) []int32 {
	if len(v.offline(ids)) == 0 {
		return ids
	}
	var all []int32
	for _, id := range ids {
		if v.alive[id] {
			all = append(all, id)
		}
	}
	return all
}

// offlineReplicas returns the brokers of a partition that are not there, or whose log directory with it is not.
func (v *vantage) offlineReplicas(p metadata.Partition) []int32 {
	var all []int32
	for _, id := range p.Replicas {
		if !v.alive[id] || !directoryOnline(v.img, p, id) {
			all = append(all, id)
		}
	}
	return all
}

// inSync returns the brokers that are in sync, and those that were until their log directories went offline: they have what was
// acknowledged, and may lead again (KIP-966).
func (v *vantage) inSync(p metadata.Partition) (isr, eligible []int32) {
	isr, eligible = p.ISR, []int32{}
	for i, id := range p.ISR {
		switch {
		case !directoryOnline(v.img, p, id):
			if len(eligible) == 0 {
				isr = slices.Clone(isr[:i])
			}
			eligible = append(eligible, id)
		case len(eligible) > 0:
			isr = append(isr, id)
		}
	}
	return isr, eligible
}

// directoryOnline reports whether a broker is registered with the log directory that a replica of it is in (KIP-858): with those
// that are offline it is not.
func directoryOnline(img *metadata.Image, p metadata.Partition, broker int32) bool {
	b, ok := img.Broker(broker)
	id := partition.Directory(p, broker)
	return !ok || id.IsZero() || len(b.Directories) == 0 || slices.Contains(b.Directories, id)
}

// offline returns the brokers that are not there.
func (v *vantage) offline(ids []int32) []int32 {
	var all []int32
	for _, id := range ids {
		if !v.alive[id] {
			all = append(all, id)
		}
	}
	return all
}

// leader returns a partition's leader, or -1 and why clients of this listener cannot reach one. Before version 6 of
// Metadata there was no code for a leader that does not have the listener.
func (v *vantage) leader(p metadata.Partition, listenerCode bool) (int32, int16) {
	if v.alive[p.Leader] {
		if !directoryOnline(v.img, p, p.Leader) {
			return -1, kerr.LeaderNotAvailable.Code
		}
		return p.Leader, 0
	}
	if _, ok := v.img.Broker(p.Leader); ok && listenerCode {
		return -1, kerr.ListenerNotFound.Code
	}
	return -1, kerr.LeaderNotAvailable.Code
}

// Operations that a client may do are sets of bits, in the numbers of Kafka's AclOperation. Without an authorizer they are
// all that there are for a topic and for the cluster.
const (
	opRead            = 1 << 3
	opWrite           = 1 << 4
	opCreate          = 1 << 5
	opDelete          = 1 << 6
	opAlter           = 1 << 7
	opDescribe        = 1 << 8
	opClusterAction   = 1 << 9
	opDescribeConfigs = 1 << 10
	opAlterConfigs    = 1 << 11
	opIdempotentWrite = 1 << 12

	topicOperations   = opRead | opWrite | opCreate | opDelete | opAlter | opDescribe | opDescribeConfigs | opAlterConfigs
	clusterOperations = opCreate | opAlter | opDescribe | opClusterAction | opDescribeConfigs | opAlterConfigs | opIdempotentWrite
)
