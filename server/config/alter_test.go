package config

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// A script of changes with Kafka's answers, run from top to bottom on one cluster's dynamic configs.
func TestChangesAreTakenRefusedAndDescribedAsKafkaDoes(t *testing.T) {
	f, err := os.Open("testdata/alter.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := script{t: t, configs: map[string]map[string]string{
		// What Kafka has of itself once it is formatted with eligible leader replicas.
		"4|": {"min.insync.replicas": "1"},
	}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			s.finish()
			s.step = line
		default:
			s.want = append(s.want, strings.TrimSpace(line))
		}
	}
	s.finish()
	if s.steps < 150 {
		t.Errorf("only %d steps", s.steps)
	}
}

type script struct {
	t       *testing.T
	configs map[string]map[string]string // by TYPE|NAME
	step    string
	want    []string
	steps   int
}

func (s *script) finish() {
	if s.step == "" {
		return
	}
	s.steps++
	sort.Strings(s.want[1:])
	if got := s.run(); strings.Join(got, "\n") != strings.Join(s.want, "\n") {
		s.t.Errorf("%s\n got %s\nwant %s", s.step, strings.Join(got, "\n     "), strings.Join(s.want, "\n     "))
	}
	s.step, s.want = "", nil
}

func (s *script) run() (lines []string) {
	f := strings.Split(s.step, "|")
	n, _ := strconv.Atoi(f[0])
	kind, name, id := Kind(n), f[1], f[0]+"|"+f[1]
	var changes []Change
	var names []string
	for _, c := range f[2:] {
		op, kv, _ := strings.Cut(c, " ")
		key, value, ok := strings.Cut(kv, "=")
		change := Change{Name: key, Op: map[string]Op{"set": Set, "del": Delete, "app": Append, "sub": Subtract}[op]}
		if ok {
			change.Value = &value
		}
		changes, names = append(changes, change), append(names, key)
	}
	next, err := s.layers().Alter(kind, name, s.configs[id], changes)
	if err != nil {
		return []string{fmt.Sprintf("=> %d", map[Reason]int{InvalidConfig: 40, InvalidRequest: 42, UnknownOp: -1}[reason(err)])}
	}
	s.configs[id] = next
	lines = []string{"=> 0"}
	for _, e := range s.describe(kind, name, next, names) {
		lines = append(lines, describeLine(e))
	}
	sort.Strings(lines[1:]) // Kafka's order is that of a hash map
	return lines
}

func reason(err error) Reason {
	var e *Error
	if !errors.As(err, &e) {
		panic(fmt.Sprintf("%T: %v", err, err))
	}
	return e.Reason
}

func (s *script) layers() Layers {
	return Layers{Dynamic: s.configs["4|1"], DynamicDefault: s.configs["4|"], ELR: true}
}

func (s *script) describe(kind Kind, name string, own map[string]string, names []string) []Entry {
	switch {
	case kind == KindTopic:
		return s.layers().DescribeTopic(own, names)
	case kind == KindGroup:
		return s.layers().DescribeGroup(own, names)
	case kind == KindClientMetrics:
		return DescribeClientMetrics(own, names)
	case name == "":
		return s.layers().DescribeBrokerDefault(names)
	}
	return s.layers().DescribeBroker(names)
}

func describeLine(e Entry) string {
	show := func(s *string) string {
		if s == nil {
			return "<null>"
		}
		return *s
	}
	var synonyms []string
	for _, s := range e.Synonyms {
		synonyms = append(synonyms, fmt.Sprintf("%s=%q@%d", s.Name, show(s.Value), s.Source))
	}
	return fmt.Sprintf("%s=%q src=%d ro=%v sens=%v %v", e.Name, show(e.Value), e.Source, e.ReadOnly, e.Sensitive, synonyms)
}
