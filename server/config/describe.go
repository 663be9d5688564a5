package config

import "sort"

// ConfigSource says which layer a described value is from. Its number is the one that DescribeConfigs has for it.
type ConfigSource int8

// The sources of a value.
const (
	SourceTopic                ConfigSource = 1
	SourceDynamicBroker        ConfigSource = 2
	SourceDynamicDefaultBroker ConfigSource = 3
	SourceStaticBroker         ConfigSource = 4
	SourceDefault              ConfigSource = 5
	SourceBrokerLogger         ConfigSource = 6
	SourceClientMetrics        ConfigSource = 7
	SourceGroup                ConfigSource = 8
)

// Entry is one key of a resource as DescribeConfigs answers it.
type Entry struct {
	Name      string
	Value     *string // nil where it is null or must not be shown
	Source    ConfigSource
	ReadOnly  bool
	Sensitive bool
	Type      Type // 0 for a key that is in no table
	// Documentation is "" for a key that is in no table.
	Documentation string
	// Synonyms are all places that have a value, the one that counts first.
	Synonyms []Synonym
}

// Synonym is a place that has a value for a key, if not always the one that counts.
type Synonym struct {
	Name   string
	Value  *string
	Source ConfigSource
}

// DescribeTopic describes a topic with these overrides on this broker. names are the keys to describe, in whatever order;
// those that do not exist are left out, and none is all. Entries come in the order of their names, here as below.
func (l Layers) DescribeTopic(overrides map[string]string, names []string) []Entry {
	return l.describeOwn(topicKeys, overrides, names, SourceTopic)
}

// DescribeGroup describes a group, which need not exist.
func (l Layers) DescribeGroup(overrides map[string]string, names []string) []Entry {
	return l.describeOwn(groupKeys, overrides, names, SourceGroup)
}

// DescribeClientMetrics describes a client metrics subscription, which need not exist.
func DescribeClientMetrics(overrides map[string]string, names []string) []Entry {
	return Layers{}.describeOwn(clientMetricsKeys, overrides, names, SourceClientMetrics)
}

// describeOwn describes a resource whose keys have values of its own over those of its broker.
func (l Layers) describeOwn(keys []Key, overrides map[string]string, names []string, source ConfigSource) []Entry {
	var entries []Entry
	wanted := chosen(names)
	for i := range keys {
		k := &keys[i]
		_, set := overrides[k.Name]
		if k.Internal() && !set || !wanted(k.Name) {
			continue
		}
		e := k.entry()
		f, ok := l.own(k, overrides, source)
		if ok {
			e.Value = k.shown(f.text)
		}
		if ok && f.source == source {
			e.Synonyms = append(e.Synonyms, Synonym{k.Name, e.Value, source})
		}
		e.Synonyms = append(e.Synonyms, l.brokerSynonyms(k, source)...)
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		entries = append(entries, e)
	}
	return entries
}

// brokerSynonyms are the places behind a resource's own value. A group's key that no broker's key stands behind has its
// default for one; a topic's has none.
func (l Layers) brokerSynonyms(k *Key, source ConfigSource) []Synonym {
	switch {
	case k.Broker != "":
		return l.synonymsOf(k.Broker)
	case source == SourceGroup && k.HasDefault():
		return []Synonym{{k.Name, k.shown(k.Default), SourceDefault}}
	}
	return nil
}

// synonymsOf lists the places that have a value for a broker's key. A coarser synonym counts only behind a value of the
// key itself: Kafka drops what comes before the first one of the key's own name, and everything if there is none.
func (l Layers) synonymsOf(name string) []Synonym {
	var all []Synonym
	names := synonyms(name)
	for _, source := range []ConfigSource{SourceDynamicBroker, SourceDynamicDefaultBroker, SourceStaticBroker, SourceDefault} {
		for _, s := range names {
			if v := l.at(s.name, source); v != nil {
				all = append(all, *v)
			}
		}
	}
	for i := range all {
		if all[i].Name == name {
			return all[i:]
		}
	}
	return nil
}

// at returns what one layer has for a broker's key, as it was written.
func (l Layers) at(name string, source ConfigSource) *Synonym {
	k, known := Lookup(KindBroker, name)
	if source == SourceDefault {
		if !known || !k.HasDefault() || k.Name != name {
			return nil
		}
		return &Synonym{name, k.shown(k.Default), source}
	}
	for _, f := range l.written(name) {
		if f.source == source {
			if known {
				return &Synonym{name, k.shown(f.raw), source}
			}
			return &Synonym{name, nil, source}
		}
	}
	return nil
}

// DescribeBroker describes this broker: every key, and what is set of those that no table has.
func (l Layers) DescribeBroker(names []string) []Entry {
	all := map[string]bool{}
	for i := range brokerKeys {
		if !brokerKeys[i].Internal() {
			all[brokerKeys[i].Name] = true
		}
	}
	for _, m := range []map[string]string{l.Dynamic, l.DynamicDefault} {
		for name := range m {
			all[name] = true
		}
	}
	for _, name := range l.Static.Names() {
		all[name] = true
	}
	return describeBroker(all, names, func(e *Entry, k *Key) {
		e.Synonyms = l.synonymsOf(e.Name)
		if k == nil {
			return
		}
		if f, ok := l.resolveOne(e.Name); ok {
			e.Value = k.shown(f.text)
		}
	})
}

// resolveOne finds the value that is described for a broker's key: its own, and not a coarser synonym's.
func (l Layers) resolveOne(name string) (found, bool) {
	if _, ok := withoutListener(name); ok {
		return l.resolve(name)
	}
	return l.get(name)
}

// DescribeBrokerDefault describes the broker of the empty name: what is set for all brokers, and nothing else.
func (l Layers) DescribeBrokerDefault(names []string) []Entry {
	all := map[string]bool{}
	for name := range l.DynamicDefault {
		all[name] = true
	}
	only := Layers{DynamicDefault: l.DynamicDefault}
	return describeBroker(all, names, func(e *Entry, k *Key) {
		e.Synonyms = []Synonym{*only.at(e.Name, SourceDynamicDefaultBroker)}
		e.Value = e.Synonyms[0].Value
	})
}

// describeBroker makes an entry of each name. A key that no table has is shown without its value: it may be a password
// that is meant for something else.
func describeBroker(all map[string]bool, names []string, fill func(*Entry, *Key)) []Entry {
	var entries []Entry
	wanted := chosen(names)
	for name := range all {
		if !wanted(name) {
			continue
		}
		k, known := Lookup(KindBroker, name)
		e := Entry{Name: name, Source: SourceDefault, ReadOnly: true, Sensitive: true}
		if known {
			e = k.entry()
			e.Name, e.ReadOnly = name, k.Name != name || k.Mode == ReadOnly
		}
		fill(&e, k)
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries
}

// CreatedTopic describes a new topic as CreateTopics answers it: a topic's own values as they were sent, spaces and all,
// and no synonyms, types or documentation.
func (l Layers) CreatedTopic(overrides map[string]string) []Entry {
	var entries []Entry
	for i := range topicKeys {
		k := &topicKeys[i]
		f, ok := l.own(k, overrides, SourceTopic)
		if _, set := overrides[k.Name]; k.Internal() && !set {
			continue
		}
		e := Entry{Name: k.Name, Source: SourceDefault, Sensitive: k.Sensitive()}
		if ok {
			e.Source, e.Value = f.source, k.shown(f.text)
		}
		if e.Source == SourceTopic {
			e.Value = k.shown(f.raw)
		}
		entries = append(entries, e)
	}
	return entries
}

func (k *Key) entry() Entry {
	return Entry{
		Name: k.Name, Source: SourceDefault, Sensitive: k.Sensitive(), Type: k.Type, Documentation: k.Documentation(),
	}
}

func (k *Key) shown(value string) *string {
	if k.Sensitive() {
		return nil
	}
	return &value
}

// chosen says which names are asked for; none is all. It is a set since there may be a frame full of them.
func chosen(names []string) func(name string) bool {
	if len(names) == 0 {
		return func(string) bool { return true }
	}
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return func(name string) bool { return set[name] }
}
