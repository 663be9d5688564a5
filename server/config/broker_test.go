package config

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABrokerWithNothingSetListensOnTheLoopbackAddress(t *testing.T) {
	b := Layers{}.Broker()
	want := []Listener{{"PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092}}
	if d := cmp.Diff(want, b.Network.Listeners); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, b.Network.Advertised); d != "" {
		t.Error(d)
	}
	if b.NodeID != 1 || !b.IsBroker || !b.IsController || b.Network.InterBroker != "PLAINTEXT" || len(b.LogDirs) != 1 ||
		b.Groups.OffsetsRetentionMs != 7*24*hour || b.Engine.Ring != "auto" || !b.Logs.Compact {
		t.Errorf("%+v", b)
	}
}

func TestListenersHaveNamesProtocolsAndHosts(t *testing.T) {
	s := load(t, Options{Data: []byte("listeners=inside://[::1]:1,OUTSIDE://:2,CONTROLLER://h:3\n" +
		"listener.security.protocol.map=INSIDE:SASL_PLAINTEXT,outside:ssl,CONTROLLER:PLAINTEXT\n" +
		"controller.listener.names=controller\ninter.broker.listener.name=INSIDE\n" +
		"max.connections.per.ip.overrides=[::1]:5,127.0.0.1:6\n")})
	n := Layers{Static: s}.Broker().Network
	want := []Listener{{"INSIDE", "SASL_PLAINTEXT", "::1", 1}, {"OUTSIDE", "SSL", "", 2}}
	if d := cmp.Diff(want, n.Advertised); d != "" {
		t.Error(d)
	}
	if len(n.Listeners) != 3 || n.InterBroker != "INSIDE" || n.Listeners[0].Addr() != "[::1]:1" || n.Listeners[1].Addr() != ":2" {
		t.Errorf("%+v", n)
	}
	if d := cmp.Diff(map[string]int32{"::1": 5, "127.0.0.1": 6}, n.MaxConnectionsByHost); d != "" {
		t.Error(d)
	}
}

func TestOnePortMayHaveAnOldAndANewAddress(t *testing.T) {
	if _, err := ParseListeners([]string{"PLAINTEXT://127.0.0.1:1", "SSL://[::1]:1"}, "", false); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]string{
		{"PLAINTEXT://127.0.0.1:1", "SSL://127.0.0.2:1"}, {"PLAINTEXT://a:1", "plaintext://b:2"}, {"PLAINTEXT://a"}, {"://a:1"},
		{"PLAINTEXT://a b:1"}, {"PLAINTEXT://::1:1"},
	} {
		if l, err := ParseListeners(bad, "", false); err == nil {
			t.Errorf("%v: %v", bad, l)
		}
	}
}

func FuzzParseListeners(f *testing.F) {
	f.Add("PLAINTEXT://127.0.0.1:9092,SSL://[::1]:1", "A:SSL")
	f.Fuzz(func(t *testing.T, list, protocols string) {
		all, err := ParseListeners(splitList(list), protocols, false)
		if err != nil {
			return
		}
		for _, l := range all {
			if l.Port < 0 || l.Port > 65535 || l.Protocol == "" || l.Name == "" {
				t.Fatalf("%+v", l)
			}
		}
	})
}

func TestAKeyOfAListenerFallsBackToTheBrokers(t *testing.T) {
	l := Layers{Static: load(t, Options{Set: []string{"ssl.client.auth=required", "listener.name.a.ssl.client.auth=none"}})}
	if got := l.Text("listener.name.a.ssl.client.auth") + " " + l.Text("listener.name.b.ssl.client.auth"); got != "none required" {
		t.Error(got)
	}
}

func TestAnAccessorOfTheWrongTypePanics(t *testing.T) {
	for name, f := range map[string]func(){
		"unknown": func() { Layers{}.Int("no.such.key") }, "type": func() { Layers{}.Int("log.dirs") },
		"long": func() { Layers{}.Int("log.retention.ms") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestReplaceDropsWhatItDoesNotName(t *testing.T) {
	current := map[string]string{"flush.ms": "1000"}
	next, err := Layers{}.Replace(KindTopic, "t", current, []Change{{Name: "segment.bytes", Value: ptr("2097152")}})
	if d := cmp.Diff(map[string]string{"segment.bytes": "2097152"}, next); err != nil || d != "" {
		t.Error(err, d)
	}
	for _, c := range []struct {
		change Change
		want   Reason
	}{
		{Change{Name: "segment.bytes", Value: ptr("many")}, InvalidConfig}, {Change{Name: "no.such.config", Value: ptr("1")}, InvalidConfig},
		{Change{Name: "segment.bytes"}, InvalidRequest},
	} {
		if _, err := (Layers{}).Replace(KindTopic, "t", current, []Change{c.change}); reason(err) != c.want {
			t.Errorf("%+v: %v", c.change, err)
		}
	}
	if _, err := (Layers{ELR: true}).Replace(KindBroker, "", map[string]string{"min.insync.replicas": "1"}, nil); reason(err) != InvalidConfig {
		t.Errorf("eligible leader replicas: %v", err)
	}
}

func TestAFailedChangeLeavesWhatThereIsAlone(t *testing.T) {
	current := map[string]string{"flush.ms": "1000", "cleanup.policy": "delete"}
	_, err := Layers{}.Alter(KindTopic, "t", current, []Change{
		{"cleanup.policy", Append, ptr("compact")}, {"flush.ms", Delete, nil}, {"segment.bytes", Set, ptr("many")},
	})
	if d := cmp.Diff(map[string]string{"flush.ms": "1000", "cleanup.policy": "delete"}, current); reason(err) != InvalidConfig || d != "" {
		t.Error(err, d)
	}
	if _, err := (Layers{}).Alter(KindTopic, "t", nil, []Change{{"flush.ms", 9, ptr("5")}}); reason(err) != UnknownOp {
		t.Error(err)
	}
	if _, err := (Layers{}).Alter(99, "x", nil, nil); reason(err) != InvalidRequest {
		t.Error(err)
	}
}

func TestABrokerKeepsUnknownKeysUpToALimitAndNoneOfOurs(t *testing.T) {
	var many []Change
	for i := range maxUnknown + 1 {
		many = append(many, Change{Name: "x." + strings.Repeat("i", i), Value: ptr("1")})
	}
	if _, err := (Layers{}).Alter(KindBroker, "1", nil, many[1:]); err != nil {
		t.Error(err)
	}
	for _, changes := range [][]Change{
		many, {{"zurau.no.such", Set, ptr("1")}}, {{"zurau.ring", Set, ptr("off")}}, {{"zurau.writer", Set, ptr("x")}},
		{{"no.such", Set, ptr("1\x00")}, {"log.roll.ms", Set, ptr("0")}},
	} {
		if _, err := (Layers{}).Alter(KindBroker, "1", nil, changes); reason(err) != InvalidRequest {
			t.Errorf("%v: %v", changes[0].Name, err)
		}
	}
	long := ptr(strings.Repeat("a", maxValue+1))
	if err := (Layers{}).ValidateTopic(map[string]string{"cleanup.policy": *long}); reason(err) != InvalidConfig {
		t.Error(err)
	}
	if _, err := (Layers{}).Alter(KindTopic, "t", nil, []Change{{"cleanup.policy", Append, ptr(*long + *long)}}); reason(err) != InvalidConfig {
		t.Error(err)
	}
	if _, err := (Layers{}).Alter(KindBroker, "1", nil, []Change{{"no.such", Set, long}}); reason(err) != InvalidConfig {
		t.Error(err)
	}
}

func TestTheDocumentHasEveryKey(t *testing.T) {
	var b strings.Builder
	if err := Document(&b); err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.HasPrefix(line, "| `") {
			lines[strings.Split(line, "`")[1]]++
		}
	}
	for _, kind := range kinds {
		for _, k := range Keys(kind) {
			if lines[k.Name] == 0 {
				t.Errorf("%s is missing", k.Name)
			}
		}
	}
	if err := Document(failing{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
