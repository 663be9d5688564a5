package config

import (
	"maps"
	"slices"
	"strings"
)

// ValidateTopic checks the overrides of a topic, those of a new one in particular. Its error is an *Error.
func (l Layers) ValidateTopic(overrides map[string]string) error {
	return l.check(KindTopic, "", nil, overrides)
}

// check checks the dynamic configuration that a resource would have. before is what it has now.
func (l Layers) check(kind Kind, name string, before, next map[string]string) error {
	switch kind {
	case KindTopic:
		return l.checkTopic(next)
	case KindGroup:
		return l.checkGroup(next)
	case KindClientMetrics:
		return checkClientMetrics(next)
	}
	return l.checkBroker(name, before, next)
}

// checkNames looks for a name that no table has, in order, so that an answer is always the same.
func checkNames(kind Kind, m map[string]string, reason Reason, message string) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, ok := Lookup(kind, name); !ok {
			return &Error{reason, message + name}
		}
	}
	return nil
}

// checkEach looks for a value that its key cannot have.
func checkEach(kind Kind, m map[string]string, reason Reason) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if n := len(m[name]); n > maxValue {
			return invalidConfig("The value of %s is %d bytes long, expected at most %d", name, n, maxValue)
		}
		k, ok := Lookup(kind, name)
		if !ok {
			continue
		}
		if err := k.Validate(m[name]); err != nil {
			return &Error{reason, err.Error()}
		}
	}
	return nil
}

func (l Layers) checkTopic(m map[string]string) error {
	if err := checkNames(KindTopic, m, InvalidConfig, "Unknown topic config name: "); err != nil {
		return err
	}
	if err := checkEach(KindTopic, m, InvalidConfig); err != nil {
		return err
	}
	r := ownReader{topicKeys, l, m}
	if least, most := r.long("min.compaction.lag.ms"), r.long("max.compaction.lag.ms"); least > most {
		return invalidConfig("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", least, most)
	}
	if r.bool("remote.storage.enable") {
		return invalidConfig("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// checkBroker checks what is new in a broker's dynamic configuration, and what it comes to with the rest. Keys that no
// table has are kept, as in Kafka, but not if they claim to be zurau's.
func (l Layers) checkBroker(name string, before, next map[string]string) error {
	changed := map[string]string{}
	unknown := 0
	for key, value := range next {
		if _, ok := Lookup(KindBroker, key); !ok {
			unknown++
		}
		if old, ok := before[key]; !ok || old != value {
			changed[key] = value
		}
	}
	if unknown > maxUnknown {
		return invalidRequest("%d keys that do not exist, expected at most %d", unknown, maxUnknown)
	}
	if err := checkModes(changed, name == ""); err != nil {
		return err
	}
	if err := checkEach(KindBroker, changed, InvalidRequest); err != nil {
		return err
	}
	return l.checkConflicts(name, next)
}

// checkConflicts refuses what makes the broker's values disagree that did not before.
func (l Layers) checkConflicts(name string, next map[string]string) error {
	then := l
	if name == "" {
		then.DynamicDefault = next
	} else {
		then.Dynamic = next
	}
	now := l.conflicts()
	for _, c := range then.conflicts() {
		if !slices.Contains(now, c) {
			return invalidRequest("Invalid value %s for configuration %s: expected %s", c.value, c.key, c.expected)
		}
	}
	return nil
}

// checkModes refuses the changes that need a restart, a listener's prefix or a broker's name.
func checkModes(changed map[string]string, forAll bool) error {
	var static, perListener, perBroker []string
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		k, ok := Lookup(KindBroker, name)
		switch {
		case !ok && strings.HasPrefix(name, "zurau."):
			return invalidRequest("Unknown broker config name: %s", name)
		case !ok:
		case k.Name != name: // of one listener
			perBroker = append(perBroker, name)
		case k.Mode == ReadOnly:
			static = append(static, name)
		case slices.Contains(listenerSecurity, name):
			perListener = append(perListener, name)
		case k.Mode == PerBroker:
			perBroker = append(perBroker, name)
		}
	}
	switch {
	case static != nil:
		return invalidRequest("Cannot update these configs dynamically: [%s]", strings.Join(static, ", "))
	case perListener != nil:
		return invalidRequest("These security configs can be dynamically updated only per-listener using the listener prefix: [%s]",
			strings.Join(perListener, ", "))
	case forAll && perBroker != nil:
		return invalidRequest("Cannot update these configs at default cluster level, broker id must be specified: [%s]",
			strings.Join(perBroker, ", "))
	}
	return nil
}

// listenerSecurity are the keys that change on a running broker for one listener only.
var listenerSecurity = []string{
	"ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password",
	"ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type",
}

// checkELR keeps min.insync.replicas the same for all brokers while the set of eligible leader replicas depends on it: a
// single broker's may not be touched, and the one for all may not go away.
func (l Layers) checkELR(name string, before, next map[string]string, changes []Change) error {
	const key = "min.insync.replicas"
	touched := slices.ContainsFunc(changes, func(c Change) bool { return c.Name == key })
	if !l.ELR {
		return nil
	}
	if name != "" && touched {
		return invalidConfig("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	}
	_, had := before[key]
	if _, has := next[key]; name == "" && !has && (had || touched) {
		return invalidConfig("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return nil
}
