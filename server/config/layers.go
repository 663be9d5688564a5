package config

import "strconv"

// layers finds a broker's values: see the package documentation for their order.
type layers struct {
	dynamic, dynamicDefault map[string]string
	static                  *Static
}

// get returns the value of a broker's key in canonical form; !ok where it is null.
func (l layers) get(name string) (p parsed, ok bool) {
	k, known := Lookup(KindBroker, name)
	if !known {
		return parsed{}, false
	}
	for _, m := range []map[string]string{l.dynamic, l.dynamicDefault} {
		if v, ok := m[name]; ok {
			if p, err := k.parse(v); err == nil {
				return p, true
			}
		}
	}
	if v, _, ok := l.static.Set(name); ok {
		if p, err := k.parse(v); err == nil {
			return p, true
		}
	}
	if !k.HasDefault() {
		return parsed{}, false
	}
	return k.Type.parse(k.Default)
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

// synonyms lists the keys that a broker's key takes its value from, itself first.
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
	return []synonym{{name, 1}}
}

// resolve is get through the synonyms. Numbers come back in the unit of the first one.
func (l layers) resolve(name string) (parsed, bool) {
	for _, s := range synonyms(name) {
		p, ok := l.get(s.name)
		if !ok {
			continue
		}
		if s.scale != 1 {
			n, _ := strconv.ParseInt(p.text, 10, 64) // an int: times an hour it fits a long
			p, _ = parseInteger(strconv.FormatInt(n*s.scale, 10), 64)
		}
		return p, true
	}
	return parsed{}, false
}

// topic returns the value of a topic's key in canonical form, and whether it is the topic's own.
func (l layers) topic(k *Key, own map[string]string) (p parsed, overridden, ok bool) {
	if v, has := own[k.Name]; has {
		if p, err := k.parse(v); err == nil {
			return p, true, true
		}
	}
	if k.Broker != "" {
		if p, ok := l.resolve(k.Broker); ok {
			return k.unlimited(p), false, true
		}
	}
	if !k.HasDefault() {
		return parsed{}, false, false
	}
	p, ok = k.Type.parse(k.Default)
	return p, false, ok
}

// unlimited makes one value of all the negative times that a broker's keys may have: -1, which is what a topic's may.
func (k *Key) unlimited(p parsed) parsed {
	if k.Name == "retention.ms" && p.number < 0 {
		return parsed{text: "-1", number: -1}
	}
	return p
}
