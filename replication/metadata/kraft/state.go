package kraft

import (
	"fmt"

	"github.com/zurau/zurau/replication/metadata"
)

// State is what the records of a metadata log come to.
type State struct {
	Topics map[metadata.ID]*Topic
	// Configs are those of every resource, in Kafka's numbers of types.
	Configs map[metadata.Resource]map[string]string
	// NextProducerID is above every producer id that a broker was given.
	NextProducerID int64
	// Features are the finalized feature levels.
	Features map[string]int16
	// Brokers are the registered brokers.
	Brokers map[int32]bool
	// Offset is behind the last record that was read.
	Offset int64
	// Cut says what is wrong behind Offset, where the log ends with a write that a kill has torn; else nil.
	Cut error

	// By what names them: ids, users and mechanisms, entities and keys.
	acls, scram, quotas, tokens map[string]bool

	names map[string]metadata.ID
	// pending are the records of a transaction that has begun; nil: none has.
	pending [][]byte
	inTxn   bool
}

// A Topic is one topic as Kafka's controller knew it.
type Topic struct {
	ID         metadata.ID
	Name       string
	Partitions map[int32]*Partition
}

func newState() *State {
	return &State{
		Topics: map[metadata.ID]*Topic{}, Configs: map[metadata.Resource]map[string]string{},
		Features: map[string]int16{}, Brokers: map[int32]bool{},
		acls: map[string]bool{}, scram: map[string]bool{}, quotas: map[string]bool{}, tokens: map[string]bool{},
		names: map[string]metadata.ID{},
	}
}

// take adds one record, or keeps it until its transaction ends. value may be used by the caller again.
func (s *State) take(value []byte) error {
	kind, version, f, err := open(value)
	if err != nil {
		return err
	}
	switch {
	case kind == kindBeginTransaction:
		s.pending, s.inTxn = nil, true
	case kind == kindAbortTransaction:
		s.pending, s.inTxn = nil, false
	case kind == kindEndTransaction:
		all := s.pending
		s.pending, s.inTxn = nil, false
		for _, value := range all {
			if err := s.take(value); err != nil {
				return err
			}
		}
	case s.inTxn:
		s.pending = append(s.pending, append([]byte(nil), value...))
	default:
		return s.apply(kind, version, f)
	}
	return nil
}

// apply changes the state by a record that counts.
func (s *State) apply(kind, version uint64, f *fields) (err error) {
	switch kind {
	case kindTopic:
		err = s.addTopic(f.string(), f.id(), f)
	case kindPartition:
		err = s.setPartition(version, f)
	case kindPartitionChange:
		err = f.change(s.partition)
	case kindRemoveTopic:
		err = s.removeTopic(f.id(), f)
	case kindConfig:
		s.setConfig(f)
	case kindProducerIDs:
		f.int32()
		f.int64()
		s.NextProducerID = max(s.NextProducerID, f.int64())
	case kindFeatureLevel:
		s.setFeature(f)
	case kindRegisterBroker:
		s.Brokers[f.int32()] = true
	case kindUnregisterBroker:
		delete(s.Brokers, f.int32())
	default:
		s.count(kind, f)
	}
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return fmt.Errorf("kind %d: %w", kind, err)
	}
	return nil
}

// count keeps account of what is not imported. Kinds that say nothing about what is imported or counted are passed over.
func (s *State) count(kind uint64, f *fields) {
	switch kind {
	case kindACL:
		s.acls[f.id().String()] = true
	case kindRemoveACL:
		delete(s.acls, f.id().String())
	case kindScram, kindRemoveScram:
		user := fmt.Sprintf("%s %d", f.string(), f.int8())
		if s.scram[user] = true; kind == kindRemoveScram {
			delete(s.scram, user)
		}
	case kindClientQuota:
		what, remove := f.quota()
		if s.quotas[what] = true; remove {
			delete(s.quotas, what)
		}
	case kindDelegationToken:
		f.string() // owner
		f.string() // requester
		n, _ := f.count(1)
		for range n {
			f.string()
		}
		f.int64()
		f.int64()
		f.int64()
		s.tokens[f.string()] = true
	case kindRemoveToken:
		delete(s.tokens, f.string())
	}
}

func (s *State) addTopic(name string, id metadata.ID, f *fields) error {
	if f.Err != nil {
		return f.Err
	}
	if old, ok := s.names[name]; ok && old != id {
		return fmt.Errorf("topic %q with id %s: the name is taken by %s", name, id, old)
	}
	if name == "" || id.IsZero() || s.Topics[id] != nil {
		return fmt.Errorf("topic %q with id %s: no name, no id, or the id of another", name, id)
	}
	s.names[name] = id
	s.Topics[id] = &Topic{ID: id, Name: name, Partitions: map[int32]*Partition{}}
	return nil
}

func (s *State) setPartition(version uint64, f *fields) error {
	number, id, p := f.partition(version)
	if f.Err != nil {
		return f.Err
	}
	t := s.Topics[id]
	if t == nil || number < 0 {
		return fmt.Errorf("partition %d of topic id %s: no such topic", number, id)
	}
	t.Partitions[number] = &p
	return nil
}

func (s *State) partition(topic metadata.ID, number int32) *Partition {
	if t := s.Topics[topic]; t != nil {
		return t.Partitions[number]
	}
	return nil
}

// removeTopic removes a topic and, as Kafka does, its configs.
func (s *State) removeTopic(id metadata.ID, f *fields) error {
	t := s.Topics[id]
	if t == nil && f.Err == nil {
		return fmt.Errorf("remove topic id %s: no such topic", id)
	}
	if t == nil {
		return f.Err
	}
	delete(s.Topics, id)
	delete(s.names, t.Name)
	delete(s.Configs, metadata.Resource{Type: metadata.ResourceTopic, Name: t.Name})
	return nil
}

func (s *State) setConfig(f *fields) {
	r := metadata.Resource{Type: metadata.ResourceType(f.int8()), Name: f.string()}
	key := f.string()
	value, set := f.nullable()
	switch {
	case f.Err != nil:
	case set:
		if s.Configs[r] == nil {
			s.Configs[r] = map[string]string{}
		}
		s.Configs[r][key] = value
	default:
		if delete(s.Configs[r], key); len(s.Configs[r]) == 0 {
			delete(s.Configs, r)
		}
	}
}

func (s *State) setFeature(f *fields) {
	name, level := f.string(), f.int16()
	if s.Features[name] = level; level == 0 {
		delete(s.Features, name)
	}
}
