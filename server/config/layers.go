package config

import (
	"fmt"
	"strconv"
)

// Layers are where a broker's values come from, the first that has one winning. Any of them may be nil. It is a view: the
// maps are the caller's and are only read.
type Layers struct {
	Dynamic        map[string]string // set for this broker
	DynamicDefault map[string]string // set for all brokers
	Static         *Static
	// ELR says that eligible leader replicas are in use (KIP-966): min.insync.replicas must then be the same everywhere.
	ELR bool
}

// A found value and where it was.
type found struct {
	parsed
	raw    string
	source ConfigSource
}

// get finds the value of a broker's key; !ok where it is null.
func (l Layers) get(name string) (f found, ok bool) {
	k, known := Lookup(KindBroker, name)
	if !known {
		return found{}, false
	}
	for _, v := range l.written(name) {
		if p, err := k.parse(v.raw); err == nil {
			return found{p, v.raw, v.source}, true
		}
	}
	if !k.HasDefault() || k.Name != name { // a listener's key falls back to the broker's, which may be set
		return found{}, false
	}
	p, _ := k.Type.parse(k.Default)
	return found{p, k.Default, SourceDefault}, true
}

// written lists what was written for a broker's key, most important first.
func (l Layers) written(name string) (all []found) {
	if v, ok := l.Dynamic[name]; ok {
		all = append(all, found{raw: v, source: SourceDynamicBroker})
	}
	if v, ok := l.DynamicDefault[name]; ok {
		all = append(all, found{raw: v, source: SourceDynamicDefaultBroker})
	}
	if v, _, ok := l.Static.Set(name); ok {
		all = append(all, found{raw: v, source: SourceStaticBroker})
	}
	return all
}

// A synonym is a broker's key that another one takes its value from, in a unit of its own.
type synonym struct {
	name  string
	scale int64 // milliseconds in one of its units, 1 where both are in the same
}

const (
	minute = 60 * 1000
	hour   = 60 * minute
)

// synonyms lists the keys that a broker's key takes its value from, itself or the finest first.
func synonyms(name string) []synonym {
	switch name {
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []synonym{{"log.retention.ms", 1}, {"log.retention.minutes", minute}, {"log.retention.hours", hour}}
	case "log.roll.ms", "log.roll.hours":
		return []synonym{{"log.roll.ms", 1}, {"log.roll.hours", hour}}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []synonym{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", hour}}
	case "log.flush.interval.ms":
		return []synonym{{name, 1}, {"log.flush.scheduler.interval.ms", 1}}
	}
	if base, ok := withoutListener(name); ok {
		return []synonym{{name, 1}, {base, 1}}
	}
	return []synonym{{name, 1}}
}

// resolve is get through the synonyms. Numbers come back in the unit of the first one.
func (l Layers) resolve(name string) (found, bool) {
	for _, s := range synonyms(name) {
		f, ok := l.get(s.name)
		if !ok {
			continue
		}
		if s.scale != 1 {
			n, _ := strconv.ParseInt(f.text, 10, 64) // an int: times an hour it fits a long
			f.parsed, _ = parseInteger(strconv.FormatInt(n*s.scale, 10), 64)
			f.raw = f.text
		}
		return f, true
	}
	return found{}, false
}

// own finds the value of a topic's or a group's key: its own, its broker's, or the default.
func (l Layers) own(k *Key, overrides map[string]string, source ConfigSource) (found, bool) {
	if v, ok := overrides[k.Name]; ok {
		if p, err := k.parse(v); err == nil {
			return found{p, v, source}, true
		}
	}
	if k.Broker != "" {
		if f, ok := l.resolve(k.Broker); ok {
			return k.fromBroker(f), true
		}
	}
	if !k.HasDefault() {
		return found{}, false
	}
	p, _ := k.Type.parse(k.Default)
	return found{p, k.Default, SourceDefault}, true
}

// fromBroker translates a broker's value where the key that takes it means it a little otherwise.
func (k *Key) fromBroker(f found) found {
	switch {
	case k.Name == "retention.ms" && f.number < 0: // a broker's may be any negative number
		f.parsed, f.raw = parsed{text: "-1", number: -1}, "-1"
	case k.Name == "streams.assignor.name" && len(f.list) > 0: // the first of the broker's
		f.parsed, f.raw = parsed{text: f.list[0]}, f.list[0]
	}
	return f
}

// The accessors return what a broker's key comes to. They panic on a key that is not in the table or has another type:
// that is a mistake in the program, not in a configuration. Null is 0, false, "" or nil.

// Int returns the value of an int or short.
func (l Layers) Int(name string) int32 { return int32(l.number(name, Int, Short)) }

// Long returns the value of a long, an int or a short.
func (l Layers) Long(name string) int64 { return l.number(name, Long, Int, Short) }

func (l Layers) number(name string, types ...Type) int64 {
	n, _ := strconv.ParseInt(l.typed(name, types...).text, 10, 64)
	return n
}

// Bool returns the value of a boolean.
func (l Layers) Bool(name string) bool { return l.typed(name, Boolean).text == "true" }

// Double returns the value of a double.
func (l Layers) Double(name string) float64 { return l.typed(name, Double).number }

// Text returns the value of a string, a class or a password.
func (l Layers) Text(name string) string { return l.typed(name, String, Class, Password).text }

// List returns the elements of a list.
func (l Layers) List(name string) []string { return l.typed(name, List).list }

func (l Layers) typed(name string, types ...Type) parsed {
	k, ok := Lookup(KindBroker, name)
	if !ok {
		panic(fmt.Sprintf("config: no broker key %s", name))
	}
	for _, t := range types {
		if k.Type == t {
			f, _ := l.resolve(name)
			return f.parsed
		}
	}
	panic(fmt.Sprintf("config: broker key %s is a %s, not a %s", name, k.Type, types[0]))
}
