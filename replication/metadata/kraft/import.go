package kraft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/replication/metadata"
)

// Broker is who imports.
type Broker struct {
	NodeID    int32
	ClusterID string // of meta.properties; "" where there is none
	// Directories are the ids of the log directories, Logs the partition folders in them.
	Directories []metadata.ID
	Logs        []Log
	// Internal reports whether a topic of that name is the broker's own.
	Internal func(name string) bool
	// Accept refuses a config that the broker does not take, with why. nil takes all.
	Accept func(r metadata.Resource, key, value string) error
}

// A Log is one partition folder.
type Log struct {
	Topic     string
	Partition int32
	ID        metadata.ID // of the topic, zero where partition.metadata does not say it
	Epoch     int32       // newest leader epoch of the log, -1 for none
	Directory metadata.ID // that it is in
}

// A Plan is what an import would do.
type Plan struct {
	Records []metadata.Record

	Topics, Partitions, Configs int
	NextProducerID              int64
	// Absent are partitions without a folder here, Lagging those of which this broker's copy was not in sync.
	Absent, Lagging []string
	// Refused are configs that Accept refused, with why.
	Refused []string
	// Left names what is in Kafka's metadata and is not imported, with how many of it there are.
	Left []string
	// Features are Kafka's finalized feature levels, NAME=LEVEL: a broker has its own.
	Features []string
}

// Import plans the import of a state.
func (s *State) Import(b Broker) Plan {
	p := planner{b: b, here: map[string]Log{}, placed: map[metadata.ID]int{}}
	for _, l := range b.Logs {
		p.here[folder(l.Topic, l.Partition)] = l
		p.placed[l.Directory]++
	}
	p.cluster()
	for _, t := range s.sorted() {
		p.topic(t)
	}
	p.configs(s)
	if p.NextProducerID = s.NextProducerID; s.NextProducerID > 0 {
		p.add(metadata.ProducerIDsRecord{Next: s.NextProducerID})
	}
	p.left(s)
	return p.Plan
}

func (s *State) sorted() []*Topic {
	return slices.SortedFunc(maps.Values(s.Topics), func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
}

func folder(topic string, partition int32) string { return topic + "-" + strconv.Itoa(int(partition)) }

// A planner builds a plan.
type planner struct {
	Plan
	b      Broker
	here   map[string]Log         // by folder
	placed map[metadata.ID]int    // logs of each directory, those that are yet to be made too
	taken  map[metadata.ID]string // ids of adopted topics
}

func (p *planner) add(r metadata.Record) { p.Records = append(p.Records, r) }

func (p *planner) cluster() {
	if p.b.ClusterID != "" {
		p.add(metadata.ClusterIDRecord{ID: p.b.ClusterID})
	}
}

func (p *planner) newTopic(name string, id metadata.ID) {
	p.add(metadata.TopicRecord{ID: id, Name: name, Internal: p.b.Internal != nil && p.b.Internal(name)})
	p.Topics++
}

// topic imports a topic. Its partitions are numbered without gaps: so they are in Kafka, too.
func (p *planner) topic(t *Topic) {
	p.newTopic(t.Name, t.ID)
	for i := range int32(len(t.Partitions)) {
		old := t.Partitions[i]
		if old == nil {
			p.Left = append(p.Left, fmt.Sprintf("partitions of %s from %d on, which is missing", t.Name, i))
			return
		}
		p.partition(t, i, old)
	}
}

// partition imports a partition: led by this broker if its folder is here, else without a leader, so that nobody is told that
// it is empty. The epoch goes on from Kafka's: a start raises it.
func (p *planner) partition(t *Topic, number int32, old *Partition) {
	name := folder(t.Name, number)
	log, here := p.here[name]
	m := metadata.Partition{ID: number, Leader: -1, LeaderEpoch: max(old.LeaderEpoch, log.Epoch), PartitionEpoch: old.PartitionEpoch + 1,
		Replicas: slices.Clone(old.Replicas), ISR: []int32{}}
	if here || p.ours(old) {
		if m.Leader = p.b.NodeID; here && p.lags(old) {
			p.Lagging = append(p.Lagging, name)
		}
		m.Replicas, m.ISR = []int32{p.b.NodeID}, []int32{p.b.NodeID}
		if m.Directories = []metadata.ID{log.Directory}; !here {
			m.Directories = []metadata.ID{p.place(old)}
		}
	} else {
		p.Absent = append(p.Absent, name)
	}
	p.add(metadata.PartitionRecord{Topic: t.ID, Partition: m})
	p.Partitions++
}

// ours reports whether this directory has the only replica: a folder that is not there was never made, since Kafka was
// killed before, or lost; there is no other copy to wait for.
func (p *planner) ours(old *Partition) bool {
	if len(old.Replicas) != 1 || old.Replicas[0] != p.b.NodeID {
		return false
	}
	return len(old.Directories) != 1 || slices.Contains(p.b.Directories, old.Directories[0]) || reserved(old.Directories[0])
}

// place chooses the directory of a partition without a folder: the one that Kafka had chosen, else the one with the fewest logs.
func (p *planner) place(old *Partition) metadata.ID {
	var best metadata.ID
	for i, id := range p.b.Directories {
		if len(old.Directories) == 1 && old.Directories[0] == id {
			best = id
			break
		}
		if i == 0 || p.placed[id] < p.placed[best] {
			best = id
		}
	}
	p.placed[best]++
	return best
}

// lags reports whether others may have records of a partition that this broker's copy has not.
func (p *planner) lags(old *Partition) bool {
	return len(old.Replicas) > 1 && !slices.Contains(old.ISR, p.b.NodeID) && !slices.Contains(old.Eligible, p.b.NodeID)
}

// reserved reports whether an id stands for a state instead of a directory: unassigned, lost, migrating (KIP-858).
func reserved(id metadata.ID) bool {
	for _, b := range id[:15] {
		if b != 0 {
			return false
		}
	}
	return id[15] < 100
}

// configs imports the configs of what is here.
func (p *planner) configs(s *State) {
	others := 0
	for _, r := range slices.SortedFunc(maps.Keys(s.Configs), compare) {
		switch r.Type {
		case metadata.ResourceTopic, metadata.ResourceClientMetrics, metadata.ResourceGroup:
		case metadata.ResourceBroker:
			if r.Name != "" && r.Name != strconv.Itoa(int(p.b.NodeID)) {
				others += len(s.Configs[r])
				continue
			}
		default:
			others += len(s.Configs[r])
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(s.Configs[r])) {
			p.config(r, key, s.Configs[r][key])
		}
	}
	p.leave(others, "configs of other brokers")
}

func compare(a, b metadata.Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func (p *planner) config(r metadata.Resource, key, value string) {
	if p.b.Accept != nil {
		if err := p.b.Accept(r, key, value); err != nil {
			p.Refused = append(p.Refused, fmt.Sprintf("%s of %s: %v", key, described(r), err))
			return
		}
	}
	p.add(metadata.ConfigRecord{Resource: r, Key: key, Value: value})
	p.Configs++
}

func described(r metadata.Resource) string {
	switch {
	case r.Type == metadata.ResourceTopic:
		return "topic " + r.Name
	case r.Type == metadata.ResourceBroker && r.Name == "":
		return "all brokers"
	case r.Type == metadata.ResourceBroker:
		return "broker " + r.Name
	case r.Type == metadata.ResourceGroup:
		return "group " + r.Name
	}
	return "client metrics " + r.Name
}

// left names what has no place in the image.
func (p *planner) left(s *State) {
	p.leave(len(s.acls), "ACLs")
	p.leave(len(s.quotas), "quotas")
	p.leave(len(s.scram), "SCRAM credentials")
	p.leave(len(s.tokens), "delegation tokens")
	others := maps.Clone(s.Brokers)
	delete(others, p.b.NodeID)
	p.leave(len(others), "other brokers")
	for _, name := range slices.Sorted(maps.Keys(s.Features)) {
		p.Features = append(p.Features, fmt.Sprintf("%s=%d", name, s.Features[name]))
	}
}

func (p *planner) leave(n int, what string) {
	if n > 0 {
		p.Left = append(p.Left, fmt.Sprintf("%d %s", n, what))
	}
}
