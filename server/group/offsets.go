package group

import "slices"

// table holds a group's offsets in two layers. A write changes the latest layer at once, so that the next decision
// (a tombstone, say) sees it, and the durable one when it is over; a write that failed takes the latest layer back.
type table struct {
	topics map[string]map[int32]*cell
	seq    int64
}

// cell is one partition's offset. nil: none.
type cell struct {
	durable, latest *offset
	seq             int64 // of the write that latest is from
	writes          int   // in flight
}

// change is one write to one cell.
type change struct {
	topic     string
	partition int32
	to        *offset // nil: forget it
	seq       int64
}

func (t *table) cell(topic string, partition int32) *cell { return t.topics[topic][partition] }

func (t *table) empty() bool { return len(t.topics) == 0 }

// begin puts a change into the latest layer.
func (t *table) begin(topic string, partition int32, to *offset) change {
	c := t.make(topic, partition)
	t.seq++
	c.latest, c.seq = to, t.seq
	c.writes++
	return change{topic, partition, to, t.seq}
}

// end puts a change into the durable layer, or takes it back.
func (t *table) end(ch change, ok bool) {
	c := t.cell(ch.topic, ch.partition)
	c.writes--
	if ok {
		c.durable = ch.to
	}
	if c.writes == 0 || !ok && c.seq == ch.seq {
		c.latest = c.durable
	}
	t.tidy(ch.topic, ch.partition, c)
}

// load puts an offset that the log has into both layers.
func (t *table) load(topic string, partition int32, o *offset) {
	c := t.make(topic, partition)
	c.durable, c.latest = o, o
	t.tidy(topic, partition, c)
}

func (t *table) make(topic string, partition int32) *cell {
	if t.topics == nil {
		t.topics = map[string]map[int32]*cell{}
	}
	if t.topics[topic] == nil {
		t.topics[topic] = map[int32]*cell{}
	}
	c := t.topics[topic][partition]
	if c == nil {
		c = &cell{}
		t.topics[topic][partition] = c
	}
	return c
}

func (t *table) tidy(topic string, partition int32, c *cell) {
	if c.writes > 0 || c.durable != nil || c.latest != nil {
		return
	}
	delete(t.topics[topic], partition)
	if len(t.topics[topic]) == 0 {
		delete(t.topics, topic)
	}
}

// names returns the topics in order, so that a run can be replayed.
func (t *table) names() []string {
	names := make([]string, 0, len(t.topics))
	for name := range t.topics {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// partitions returns a topic's partitions in order.
func (t *table) partitions(topic string) []int32 {
	ps := make([]int32, 0, len(t.topics[topic]))
	for p := range t.topics[topic] {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}
