package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/replication/metadata"
)

// place chooses the brokers of count partitions, the leader first. Leaders and followers go round the brokers that are
// not fenced, ordered so that neighbours are in different racks as far as racks allow; fenced ones come last in a
// partition, and only where the others do not suffice. made is how many partitions the request has made before: it
// goes on behind them, and behind all that there are, so that topics of one partition each spread over the brokers too.
func (v view) place(made, count, replicas int) ([][]int32, *refusal) {
	active, fenced := v.brokers()
	switch n := len(active) + len(fenced); {
	case replicas > n:
		return nil, refuse(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): "+
			"The target replication factor of %d cannot be reached because only %d broker(s) are registered.", replicas, replicas, n)
	case len(active) == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): All brokers are currently fenced.", replicas)
	}
	start := v.img.PartitionCount() + made
	all := make([][]int32, count)
	for i := range all {
		one := make([]int32, 0, replicas)
		for k := 0; k < replicas && k < len(active); k++ {
			one = append(one, active[(start+i+k)%len(active)])
		}
		all[i] = append(one, fenced[:replicas-len(one)]...)
	}
	return all, nil
}

// brokers lists those that may lead, ordered for place, and the fenced ones.
func (v view) brokers() (active, fenced []int32) {
	racks := map[string][]int32{}
	var names []string
	for _, b := range v.img.Brokers() {
		if b.Fenced {
			fenced = append(fenced, b.ID)
			continue
		}
		if racks[b.Rack] == nil {
			names = append(names, b.Rack)
		}
		racks[b.Rack] = append(racks[b.Rack], b.ID)
	}
	slices.Sort(names)
	for i := 0; len(names) > 0; i++ {
		names = slices.DeleteFunc(names, func(rack string) bool { return len(racks[rack]) <= i })
		for _, rack := range names {
			active = append(active, racks[rack][i])
		}
	}
	return active, fenced
}

// checkManual refuses brokers that a client has chosen for a partition. replicas is how many the topic's other
// partitions have, 0 where there are none yet.
func (v view) checkManual(partition int, brokers []int32, replicas int) *refusal {
	if len(brokers) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	active := false
	seen := make(map[int32]bool, len(brokers))
	for _, id := range brokers {
		b, ok := v.img.Broker(id)
		switch {
		case !ok:
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		case seen[id]:
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		seen[id] = true
		active = active || !b.Fenced
	}
	if replicas != 0 && len(brokers) != replicas {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes a partition with %d replica(s), "+
			"but this is not consistent with previous partitions, which have %d replica(s).", len(brokers), replicas)
	}
	if !active {
		return refuse(kerr.InvalidReplicaAssignment, "All brokers specified in the manual partition assignment for partition %d are fenced.", partition)
	}
	return nil
}

// checkFolder refuses a number of partitions whose folders' names would be too long to make.
func checkFolder(topic string, partitions int) *refusal {
	if n := len(topic) + 1 + len(strconv.Itoa(partitions-1)); n > maxFolderName {
		return refuse(kerr.InvalidPartitions, "A folder for partition %d of this topic would have a name of %d bytes, more than %d.",
			partitions-1, n, maxFolderName)
	}
	return nil
}

// newPartition is a partition on brokers of which one at least is not fenced. Those that are not are in sync: there is
// nothing yet to be behind with.
func (v view) newPartition(topic metadata.ID, number int, replicas []int32) metadata.PartitionRecord {
	p := metadata.Partition{ID: int32(number), Leader: -1, Replicas: replicas, Directories: make([]metadata.ID, len(replicas))}
	for i, id := range replicas {
		b, _ := v.img.Broker(id)
		p.Directories[i] = v.directory(b, number)
		if b.Fenced {
			continue
		}
		if p.Leader < 0 {
			p.Leader = id
		}
		p.ISR = append(p.ISR, id)
	}
	return metadata.PartitionRecord{Topic: topic, Partition: p}
}

// directory chooses a log directory of a broker for a new replica: of this broker the one with the most room, of others, whose room is not
// known, one after the other.
func (v view) directory(b metadata.Broker, number int) metadata.ID {
	if b.ID == v.node && v.dirs != nil {
		if d := v.dirs.Next(); d != nil {
			return d.ID()
		}
	}
	if n := len(b.Directories); n > 0 {
		return b.Directories[number%n]
	}
	return metadata.ID{}
}
