package config

import (
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Kind is a kind of resource that has configuration keys. Its number is the resource type of DescribeConfigs.
type Kind int8

// The kinds of resources with keys of their own.
const (
	KindTopic         Kind = 2
	KindBroker        Kind = 4
	KindClientMetrics Kind = 16
	KindGroup         Kind = 32
)

func (k Kind) String() string {
	switch k {
	case KindTopic:
		return "topic"
	case KindBroker:
		return "broker"
	case KindClientMetrics:
		return "client metrics"
	case KindGroup:
		return "group"
	}
	return "unknown"
}

// Keys returns the keys of a kind in the order of their names, or none for a kind that has none. The slice is shared:
// it is not to be changed.
func Keys(kind Kind) []Key {
	switch kind {
	case KindTopic:
		return topicKeys
	case KindBroker:
		return brokerKeys
	case KindClientMetrics:
		return clientMetricsKeys
	case KindGroup:
		return groupKeys
	}
	return nil
}

// Lookup finds a key by its exact name. A broker's keys are also found behind a listener's prefix, as
// listener.name.internal.ssl.keystore.location; Key.Name is then the name without it.
func Lookup(kind Kind, name string) (*Key, bool) {
	if k, ok := find(Keys(kind), name); ok {
		return k, true
	}
	if kind == KindBroker {
		if base, ok := withoutListener(name); ok {
			return find(brokerKeys, base)
		}
	}
	return nil, false
}

func find(keys []Key, name string) (*Key, bool) {
	i := sort.Search(len(keys), func(i int) bool { return keys[i].Name >= name })
	if i < len(keys) && keys[i].Name == name {
		return &keys[i], true
	}
	return nil, false
}

var listenerPrefix = regexp.MustCompile(`^listener\.name\.[^.]*\.(.+)$`)

// perMechanism are the keys that may have a SASL mechanism before them too:
// listener.name.internal.scram-sha-256.sasl.jaas.config.
var perMechanism = []string{
	"connections.max.reauth.ms", "sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class",
	"sasl.server.callback.handler.class",
}

func withoutListener(name string) (string, bool) {
	m := listenerPrefix.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	for _, base := range perMechanism {
		if strings.HasSuffix(m[1], "."+base) {
			return base, true
		}
	}
	return m[1], true
}

// brokerKeys are all keys of a broker.
var brokerKeys = sorted(clusterKeys, coordinatorKeys, logKeys, remoteKeys, securityKeys, serverKeys, shareKeys, zurauKeys)

// sorted joins tables. Two keys of one name are a mistake in a table, which a test looks for.
func sorted(tables ...[]Key) []Key {
	all := slices.Concat(tables...)
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}
