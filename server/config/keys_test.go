package config

import (
	"slices"
	"strings"
	"testing"
)

var kinds = []Kind{KindTopic, KindBroker, KindGroup, KindClientMetrics}

func TestNamesAreSortedAndUnique(t *testing.T) {
	for _, kind := range kinds {
		keys := Keys(kind)
		for i := 1; i < len(keys); i++ {
			if keys[i-1].Name >= keys[i].Name {
				t.Errorf("%s: %s comes before %s", kind, keys[i-1].Name, keys[i].Name)
			}
		}
	}
}

func TestEveryDefaultIsAllowedAndCanonical(t *testing.T) {
	for _, kind := range kinds {
		for _, k := range Keys(kind) {
			if !k.HasDefault() {
				continue
			}
			// Kafka describes a list that may not be empty as empty where it is not set.
			if k.Default == "" && k.Type == List {
				continue
			}
			if got, err := k.Canonical(k.Default); err != nil || got != k.Default {
				t.Errorf("%s %s: %q, %v", kind, k.Name, got, err)
			}
		}
	}
}

func TestEverySynonymExistsAndHasATypeThatFits(t *testing.T) {
	fits := func(a, b Type) bool { return a == b || a == Long && b == Int || a == String && b == List }
	for _, kind := range kinds {
		for _, k := range Keys(kind) {
			if k.Broker == "" {
				continue
			}
			for _, s := range synonyms(k.Broker) {
				if b, ok := find(brokerKeys, s.name); !ok || !fits(k.Type, b.Type) {
					t.Errorf("%s %s comes from %s", kind, k.Name, s.name)
				}
			}
		}
	}
	for _, b := range bounds {
		for _, name := range []string{b.least, b.most} {
			if _, ok := find(brokerKeys, name); name != "" && !ok {
				t.Errorf("%s is bounded by %s", b.name, name)
			}
		}
	}
	for _, name := range slices.Concat(perMechanism, listenerSecurity) {
		if _, ok := find(brokerKeys, name); !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestDocumentationIsSentences(t *testing.T) {
	for _, kind := range kinds {
		for _, k := range Keys(kind) {
			if !strings.HasSuffix(k.Doc, ".") && !strings.HasSuffix(k.Doc, "1H.") || len(k.Doc) > 300 {
				t.Errorf("%s %s: %q", kind, k.Name, k.Doc)
			}
		}
	}
}

func TestTheTableIsKafkas(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range readLines(t, "testdata/keys.tsv") {
		f := strings.Split(line, "\t")
		kind := map[string]Kind{"topic": KindTopic, "broker": KindBroker, "group": KindGroup, "client-metrics": KindClientMetrics}[f[0]]
		k, ok := find(Keys(kind), f[1])
		if !ok {
			t.Errorf("there is no %s %s", f[0], f[1])
			continue
		}
		seen[f[0]+f[1]] = true
		value := f[3]
		if value == "<null>" || value == "<none>" {
			value = Null
		}
		internal := "-"
		if k.Internal() {
			internal = "internal"
		}
		mode := "-"
		if kind == KindBroker {
			mode = k.Mode.String()
		}
		if k.Default != value && k.Flags&Ours == 0 {
			t.Errorf("%s: default %q, Kafka's is %q", k.Name, k.Default, value)
		}
		if k.Type.String() != f[2] || k.Importance.String() != f[4] || mode != f[5] || internal != f[6] {
			t.Errorf("%s is a %s, %s, %s, %s; Kafka's %v", k.Name, k.Type, k.Importance, mode, internal, f[2:])
		}
	}
	if len(seen) != 38+379+27+3 {
		t.Errorf("%d keys", len(seen))
	}
}

func TestLookupKnowsListenersPrefixes(t *testing.T) {
	for name, want := range map[string]string{
		"ssl.key.password":                                       "ssl.key.password",
		"listener.name.internal.ssl.key.password":                "ssl.key.password",
		"listener.name.internal.scram-sha-256.sasl.jaas.config":  "sasl.jaas.config",
		"listener.name.internal.plain.connections.max.reauth.ms": "connections.max.reauth.ms",
		"listener.name.internal.plain.ssl.key.password":          "",
		"listener.name.internal":                                 "",
		"no.such.key":                                            "",
	} {
		k, ok := Lookup(KindBroker, name)
		if ok != (want != "") || ok && k.Name != want {
			t.Errorf("%s: %v %v", name, k, ok)
		}
	}
}
