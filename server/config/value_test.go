package config

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// Values and what Kafka's ConfigDef makes of them; "-" is refused.
func TestValuesAreReadAsJavaReadsThem(t *testing.T) {
	for _, c := range []struct {
		kind             Kind
		key, value, want string
	}{
		{KindTopic, "unclean.leader.election.enable", " TRUE ", "true"},
		{KindTopic, "unclean.leader.election.enable", "yes", "-"},
		{KindTopic, "retention.ms", " 1000000 ", "1000000"},
		{KindTopic, "retention.ms", "+5", "5"},
		{KindTopic, "retention.ms", "-0", "0"},
		{KindTopic, "retention.ms", "-2", "-"},
		{KindTopic, "retention.ms", "", "-"},
		{KindTopic, "retention.ms", "1_000", "-"},
		{KindTopic, "retention.ms", "0x10", "-"},
		{KindTopic, "retention.ms", "9223372036854775807", "9223372036854775807"},
		{KindTopic, "retention.ms", "9223372036854775808", "-"},
		{KindTopic, "segment.bytes", "2147483648", "-"},
		{KindBroker, "offsets.topic.replication.factor", "32768", "-"},
		{KindTopic, "min.cleanable.dirty.ratio", ".5f", "0.5"},
		{KindTopic, "min.cleanable.dirty.ratio", "1e-3", "0.001"},
		{KindTopic, "min.cleanable.dirty.ratio", "0x1p-2", "0.25"},
		{KindTopic, "min.cleanable.dirty.ratio", "1", "1.0"},
		{KindTopic, "min.cleanable.dirty.ratio", "NaN", "-"},
		{KindTopic, "min.cleanable.dirty.ratio", "2", "-"},
		{KindTopic, "cleanup.policy", " compact , delete,compact ", "compact,delete"},
		{KindTopic, "cleanup.policy", "", ""},
		{KindTopic, "cleanup.policy", "delete,", "-"},
		{KindTopic, "cleanup.policy", "Delete", "-"},
		{KindTopic, "compression.type", "GZIP", "-"},
		{KindTopic, "compression.gzip.level", "0", "-"},
		{KindTopic, "compression.gzip.level", "-1", "-1"},
		{KindTopic, "compression.type", "gzip\x00", "-"},
		{KindTopic, "leader.replication.throttled.replicas", "*", "*"},
		{KindTopic, "leader.replication.throttled.replicas", "0:1, 1:2,0:1", "0:1,1:2,0:1"},
		{KindTopic, "leader.replication.throttled.replicas", "abc", "-"},
		{KindBroker, "listeners", "", "-"},
		{KindBroker, "group.consumer.migration.policy", "Upgrade", "Upgrade"},
		{KindBroker, "controller.quorum.voters", "1@a:1,2@[::1]:2", "1@a:1,2@[::1]:2"},
		{KindBroker, "controller.quorum.voters", "a:1", "-"},
		{KindGroup, "share.auto.offset.reset", "by_duration:PT5S", "by_duration:PT5S"},
		{KindGroup, "share.auto.offset.reset", "by_duration:p1dt2h3.5s", "by_duration:p1dt2h3.5s"},
		{KindGroup, "share.auto.offset.reset", "by_duration:P", "-"},
		{KindGroup, "share.auto.offset.reset", "by_duration:P1DT", "-"},
		{KindGroup, "share.auto.offset.reset", "by_duration:-PT5S", "-"},
		{KindGroup, "share.auto.offset.reset", "", "-"},
	} {
		k, ok := Lookup(c.kind, c.key)
		if !ok {
			t.Fatalf("no key %s", c.key)
		}
		got, err := k.Canonical(c.value)
		if err != nil {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s=%q: got %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

func TestAnErrorNamesKeyValueAndWhatWasExpected(t *testing.T) {
	k, _ := Lookup(KindTopic, "segment.bytes")
	err := k.Validate("many")
	var value *ValueError
	if !errors.As(err, &value) || value.Key != "segment.bytes" || value.Value != "many" {
		t.Fatalf("%#v", err)
	}
	const want = "Invalid value many for configuration segment.bytes: expected an int, at least 1048576"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if n := len(k.Validate(strings.Repeat("9", 1<<20)).Error()); n > 1000 {
		t.Errorf("a long value makes a message of %d bytes", n)
	}
}

func TestDoublesAreWrittenAsJavaWritesThem(t *testing.T) {
	for f, want := range map[float64]string{
		0.5: "0.5", 1: "1.0", 100: "100.0", 1e7: "1.0E7", 12345678.9: "1.23456789E7", 1e-3: "0.001", 1e-4: "1.0E-4", 0: "0.0",
		math.MaxFloat64: "1.7976931348623157E308", 123456.789: "123456.789", 9999999: "9999999.0", 1e22: "1.0E22",
		math.Inf(1): "Infinity", math.Inf(-1): "-Infinity",
	} {
		if got := formatDouble(f); got != want {
			t.Errorf("%g: got %s, want %s", f, got, want)
		}
	}
}

// Whatever a client sends as a value, its canonical form means the same and is its own canonical form.
func FuzzCanonicalIsStable(f *testing.F) {
	for _, v := range []string{"1", " a , b ", "*", "1e3", "true", "by_duration:PT1H", "0:1,1:1", "", "\x00", "-1"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, kind := range kinds {
			for i := range Keys(kind) {
				k := &Keys(kind)[i]
				once, err := k.Canonical(value)
				if err != nil {
					_ = err.Error()
					continue
				}
				if twice, err := k.Canonical(once); err != nil || twice != once {
					t.Fatalf("%s=%q: %q, then %q, %v", k.Name, value, once, twice, err)
				}
			}
		}
	})
}
