package metadata

import (
	"fmt"
	"maps"
	"slices"
)

// edit builds the image that follows another one. It is used by one goroutine, once.
type edit struct {
	old     *Image
	next    Image
	byName  hashedEdit[topicName, *topic]
	byID    hashedEdit[ID, *topic]
	configs hashedEdit[Resource, map[string]string]

	topics    map[ID]*topic // made by this edit: may be changed in place
	names     map[string]bool
	resources map[Resource]bool // whose map is this edit's own
	removed   []TopicRef        // in the old image
	gone      []TopicRef        // all that this edit removed
	brokers   map[int32]bool
	started   map[int32]bool
}

// Apply returns the image after records, which are the entry at offset of the metadata log, and what they changed.
// Records that the image cannot take (a partition of no topic, a name that is taken) are an error, and change nothing.
func (img *Image) Apply(offset int64, records []Record) (*Image, Delta, error) {
	e := img.edit()
	e.next.Offset = offset
	for i, r := range records {
		if err := r.apply(e); err != nil {
			return nil, Delta{}, fmt.Errorf("metadata record %d of %d: %w", i, len(records), err)
		}
	}
	return e.image(), e.delta(), nil
}

func (img *Image) edit() *edit {
	e := &edit{old: img, next: *img, topics: make(map[ID]*topic), names: make(map[string]bool),
		resources: make(map[Resource]bool), brokers: make(map[int32]bool), started: make(map[int32]bool)}
	e.byName.hashed, e.byID.hashed, e.configs.hashed = img.byName, img.byID, img.configs
	return e
}

// image returns what was built. The edit takes no records after it.
func (e *edit) image() *Image {
	e.next.byName, e.next.byID, e.next.configs = e.byName.hashed, e.byID.hashed, e.configs.hashed
	e.next.names = e.old.names.with(e.names)
	if len(e.gone) > 0 {
		all := slices.Concat(e.old.removed, e.gone)
		e.next.removed = slices.Clip(all[max(0, len(all)-maxRemoved):])
	}
	return &e.next
}

// delta returns what the edit changed.
func (e *edit) delta() Delta {
	d := Delta{Removed: e.removed}
	for id, t := range e.topics {
		ref := TopicRef{id, t.name}
		if _, existed := e.old.byID.get(id); existed {
			d.Changed = append(d.Changed, ref)
		} else {
			d.Added = append(d.Added, ref)
		}
	}
	for r := range e.resources {
		_, before := e.old.configs.get(r)
		if _, now := e.configs.get(r); before || now {
			d.Configs = append(d.Configs, r)
		}
	}
	d.Brokers = slices.Collect(maps.Keys(e.brokers))
	d.Started = slices.Collect(maps.Keys(e.started))
	d.sort()
	return d
}

func (r ClusterIDRecord) apply(e *edit) error {
	if e.next.ClusterID != "" && e.next.ClusterID != r.ID {
		return fmt.Errorf("cluster id %q: the cluster is %q", r.ID, e.next.ClusterID)
	}
	e.next.ClusterID = r.ID
	return nil
}

func (r TopicRecord) apply(e *edit) error {
	if r.Name == "" || r.ID.IsZero() {
		return fmt.Errorf("topic %q with id %s: both must be given", r.Name, r.ID)
	}
	if t, ok := e.byName.get(topicName(r.Name)); ok {
		return fmt.Errorf("topic %q: the name is taken by %s", r.Name, t.id)
	}
	if t, ok := e.byID.get(r.ID); ok {
		return fmt.Errorf("topic %q: the id %s is taken by %q", r.Name, r.ID, t.name)
	}
	// An id stands for one topic for ever; in one entry it cannot even be seen going and coming.
	if t, ok := e.old.byID.get(r.ID); ok {
		return fmt.Errorf("topic %q: the id %s was just that of %q", r.Name, r.ID, t.name)
	}
	e.put(&topic{id: r.ID, name: r.Name, internal: r.Internal})
	e.names[r.Name] = true
	return nil
}

func (e *edit) put(t *topic) {
	e.topics[t.id] = t
	e.byName.set(topicName(t.name), t)
	e.byID.set(t.id, t)
}

// own returns the topic in a form that this edit may change, or nil.
func (e *edit) own(id ID) *topic {
	if t, ok := e.topics[id]; ok {
		return t
	}
	t, ok := e.byID.get(id)
	if !ok {
		return nil
	}
	t = &topic{id: t.id, name: t.name, internal: t.internal, partitions: slices.Clone(t.partitions)}
	e.put(t)
	return t
}

func (r PartitionRecord) apply(e *edit) error {
	t := e.own(r.Topic)
	switch {
	case t == nil:
		return fmt.Errorf("partition %d of topic id %s: no such topic", r.ID, r.Topic)
	case r.ID < 0 || int(r.ID) > len(t.partitions):
		return fmt.Errorf("partition %d of topic %q: it has %d, and the next must be %[3]d", r.ID, t.name, len(t.partitions))
	case len(r.Directories) != 0 && len(r.Directories) != len(r.Replicas):
		return fmt.Errorf("partition %d of topic %q: %d directories for %d replicas", r.ID, t.name, len(r.Directories), len(r.Replicas))
	}
	p := &partition{Partition: r.Partition, starts: e.next.starts[r.Leader]}
	if int(r.ID) == len(t.partitions) {
		t.partitions = append(t.partitions, p)
		e.next.partitions++
	} else {
		t.partitions[r.ID] = p
	}
	return nil
}

func (r RemoveTopicRecord) apply(e *edit) error {
	t, ok := e.byID.get(r.ID)
	if !ok {
		return fmt.Errorf("remove topic id %s: no such topic", r.ID)
	}
	e.byID.remove(t.id)
	e.byName.remove(topicName(t.name))
	delete(e.topics, t.id)
	e.names[t.name] = false
	e.next.partitions -= len(t.partitions)
	e.gone = append(e.gone, TopicRef{t.id, t.name})
	if _, existed := e.old.byID.get(t.id); existed {
		e.removed = append(e.removed, TopicRef{t.id, t.name})
	}
	resource := Resource{ResourceTopic, t.name}
	if _, ok := e.configs.get(resource); ok {
		e.configs.remove(resource)
		e.resources[resource] = true
	}
	return nil
}

func (r ConfigRecord) apply(e *edit) error {
	if r.Key == "" {
		return fmt.Errorf("config of %v: no key", r.Resource)
	}
	values, ok := e.configs.get(r.Resource)
	if !ok && r.Delete {
		return nil
	}
	if !ok {
		values = make(map[string]string)
	} else if !e.resources[r.Resource] {
		values = maps.Clone(values)
	}
	e.resources[r.Resource] = true
	if r.Delete {
		delete(values, r.Key)
	} else {
		values[r.Key] = r.Value
	}
	if len(values) == 0 {
		e.configs.remove(r.Resource)
	} else {
		e.configs.set(r.Resource, values)
	}
	return nil
}

func (r ProducerIDsRecord) apply(e *edit) error {
	if r.Next < e.next.NextProducerID {
		return fmt.Errorf("next producer id %d: ids below %d were given away", r.Next, e.next.NextProducerID)
	}
	e.next.NextProducerID = r.Next
	return nil
}

func (r BrokerRecord) apply(e *edit) error {
	b := r.Broker
	if b.Epoch < 0 {
		b.Epoch = e.next.Offset
	}
	if len(e.brokers) == 0 {
		e.next.brokers = cloneOrMake(e.next.brokers)
	}
	e.next.brokers[b.ID] = b
	e.brokers[b.ID] = true
	return nil
}

func (r StartRecord) apply(e *edit) error {
	if len(e.started) == 0 {
		e.next.starts = cloneOrMake(e.next.starts)
	}
	e.next.starts[r.Node]++
	e.started[r.Node] = true
	return nil
}

// cloneOrMake copies a small map that may be nil.
func cloneOrMake[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return make(map[K]V)
	}
	return maps.Clone(m)
}
