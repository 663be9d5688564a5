package kraft

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zurau/zurau/replication/metadata"
)

// Adopt plans topics from their folders alone, where Kafka's metadata is not here or cannot be read. A topic has the id that
// its folders say, or a new one from rand where none does; a folder with another id than its topic's first one, or with another
// topic's, is Left. As many partitions are made as the highest folder says.
//
// What configs the topics had is not known. Those of people get retention.ms and retention.bytes without a limit, so
// that nothing is deleted before somebody has said what may be; the broker's own get the policy that they always have.
func Adopt(b Broker, rand io.Reader) (Plan, error) {
	p := planner{b: b, taken: map[metadata.ID]string{}}
	p.cluster()
	topics := map[string][]Log{}
	for _, l := range b.Logs {
		topics[l.Topic] = append(topics[l.Topic], l)
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if err := p.adopt(name, topics[name], rand); err != nil {
			return Plan{}, err
		}
	}
	return p.Plan, nil
}

// mostPartitions bounds what is made for one folder with a high number, which may be anybody's.
const mostPartitions = 100_000

func (p *planner) adopt(name string, logs []Log, rand io.Reader) error {
	id, err := p.idOf(logs, rand)
	if err != nil {
		return err
	}
	here, end := map[int32]Log{}, int32(0)
	for _, l := range logs {
		switch {
		case l.Partition >= mostPartitions:
			p.Left = append(p.Left, fmt.Sprintf("%s, whose number is %d or more", folder(name, l.Partition), mostPartitions))
		case l.ID != id && !l.ID.IsZero():
			p.Left = append(p.Left, fmt.Sprintf("%s, whose topic id %s is not %s", folder(name, l.Partition), l.ID, id))
		default:
			here[l.Partition], end = l, max(end, l.Partition+1)
		}
	}
	if end == 0 {
		return nil
	}
	p.taken[id] = name
	p.newTopic(name, id)
	for i := range end {
		log, there := here[i]
		m := metadata.Partition{ID: i, Leader: -1, LeaderEpoch: max(log.Epoch, 0), Replicas: []int32{p.b.NodeID}, ISR: []int32{},
			Directories: []metadata.ID{log.Directory}}
		if there {
			m.Leader, m.ISR = p.b.NodeID, []int32{p.b.NodeID}
		} else {
			p.Absent = append(p.Absent, folder(name, i))
		}
		p.add(metadata.PartitionRecord{Topic: id, Partition: m})
		p.Partitions++
	}
	p.keep(name)
	return nil
}

// idOf returns the id of a topic's first folder that has one which is not another topic's, or a new one.
func (p *planner) idOf(logs []Log, rand io.Reader) (metadata.ID, error) {
	slices.SortFunc(logs, func(a, b Log) int { return cmp.Compare(a.Partition, b.Partition) })
	for _, l := range logs {
		if !l.ID.IsZero() && p.taken[l.ID] == "" {
			return l.ID, nil
		}
	}
	return metadata.NewID(rand)
}

// keep sets configs with which nothing is lost.
func (p *planner) keep(name string) {
	r := metadata.Resource{Type: metadata.ResourceTopic, Name: name}
	if p.b.Internal != nil && p.b.Internal(name) {
		p.config(r, "cleanup.policy", "compact")
		return
	}
	p.config(r, "retention.bytes", "-1")
	p.config(r, "retention.ms", "-1")
}
