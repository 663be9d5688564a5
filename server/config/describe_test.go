package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestAWholeClusterIsDescribedAsKafkaDescribesIt(t *testing.T) {
	static, err := Load(Options{File: "testdata/describe.properties"})
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{Static: static, DynamicDefault: map[string]string{"min.insync.replicas": "1"}}
	got := describedLines("2/t", l.DescribeTopic(map[string]string{"cleanup.policy": "compact", "retention.bytes": "5"}, nil))
	got = append(got, describedLines("4/1", l.DescribeBroker(nil))...)
	got = append(got, describedLines("4/", l.DescribeBrokerDefault(nil))...)
	got = append(got, describedLines("32/g", l.DescribeGroup(nil, nil))...)
	got = append(got, describedLines("16/m", DescribeClientMetrics(nil, nil))...)
	want := readLines(t, "testdata/describe.tsv")
	for _, line := range got {
		if !slices.Contains(want, line) && !departs(line) {
			t.Errorf("not in Kafka:  %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) && !departs(line) {
			t.Errorf("only in Kafka: %s", line)
		}
	}
}

// departs is true for the keys that Kafka does not have and those with a default of ours, which the synonyms show.
func departs(line string) bool {
	name := strings.Split(line, "\t")[1]
	k, ok := Lookup(KindBroker, name)
	return ok && k.Flags&Ours != 0
}

func describedLines(resource string, entries []Entry) (lines []string) {
	show := func(s *string) string {
		if s == nil {
			return "<null>"
		}
		return *s
	}
	for _, e := range entries {
		var synonyms []string
		for _, s := range e.Synonyms {
			synonyms = append(synonyms, fmt.Sprintf("%s=%s@%d", s.Name, show(s.Value), s.Source))
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\tsrc=%d\tro=%v\tsens=%v\ttype=%d\t%s", resource, e.Name, show(e.Value), e.Source,
			e.ReadOnly, e.Sensitive, e.Type, strings.Join(synonyms, " | ")))
	}
	return lines
}

func readLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestEveryEntryOfAKnownKeyHasDocumentation(t *testing.T) {
	for _, e := range slices.Concat(Layers{}.DescribeTopic(nil, nil), Layers{}.DescribeBroker(nil), Layers{}.DescribeGroup(nil, nil)) {
		if e.Documentation == "" {
			t.Errorf("%s has none", e.Name)
		}
	}
}

func TestNamesChooseWhatIsDescribedAndUnknownOnesAreLeftOut(t *testing.T) {
	got := Layers{}.DescribeTopic(nil, []string{"retention.ms", "no.such.config"})
	if len(got) != 1 || got[0].Name != "retention.ms" {
		t.Errorf("%+v", got)
	}
}

// From the case create-config-spaces of the wire's answers.
func TestANewTopicsOwnValuesComeBackAsTheyWereSent(t *testing.T) {
	want := map[string]string{"cleanup.policy": "compact, delete", "retention.ms": " 1000000 "}
	for _, e := range (Layers{}).CreatedTopic(want) {
		if v, ok := want[e.Name]; ok && (*e.Value != v || e.Source != SourceTopic) {
			t.Errorf("%s is %q from %d", e.Name, *e.Value, e.Source)
		} else if !ok && e.Source != SourceDefault {
			t.Errorf("%s is from %d", e.Name, e.Source)
		}
	}
}

func TestANewTopicTakesTheHoursOfAFile(t *testing.T) {
	static, err := Load(Options{Set: []string{"log.retention.hours=2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range (Layers{Static: static}).CreatedTopic(nil) {
		if e.Name == "retention.ms" && (*e.Value != "7200000" || e.Source != SourceStaticBroker) {
			t.Errorf("%s from %d", *e.Value, e.Source)
		}
	}
}

func TestAPasswordIsNeverShown(t *testing.T) {
	const secret = "correct horse"
	static, err := Load(Options{Set: []string{"ssl.key.password=" + secret, "unknown.password=" + secret}})
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{Static: static, Dynamic: map[string]string{"listener.name.a.plain.sasl.jaas.config": secret}}
	for _, e := range l.DescribeBroker(nil) {
		if text := strings.Join(describedLines("", []Entry{e}), ""); strings.Contains(text, secret) {
			t.Error(text)
		}
	}
	if k, _ := Lookup(KindBroker, "ssl.key.password"); strings.Contains(k.Validate("\x00"+secret).Error(), secret) {
		t.Error("an error shows it")
	}
}
