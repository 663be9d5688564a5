package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Limit is what a key asks of its value beyond the type. A limit of lists may make a set of the list.
type Limit interface {
	// String says in words what is allowed, to follow "an int, ".
	String() string
	allows(*parsed) bool
}

// between allows numbers from min to max, both included.
type between struct{ min, max float64 }

func atLeast(n float64) Limit { return between{n, math.MaxFloat64} }

func (l between) allows(p *parsed) bool { return p.number >= l.min && p.number <= l.max }

func (l between) String() string {
	if l.max == math.MaxFloat64 {
		return fmt.Sprintf("at least %s", plain(l.min))
	}
	return fmt.Sprintf("%s to %s", plain(l.min), plain(l.max))
}

func plain(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%f", f), ".000000") }

// orElse allows one number beside a range: compression.gzip.level is 1 to 9, or -1.
type orElse struct {
	between
	other float64
}

func (l orElse) allows(p *parsed) bool { return p.number == l.other || l.between.allows(p) }
func (l orElse) String() string        { return l.between.String() + " or " + plain(l.other) }

// oneOf allows the words listed, with their case.
type oneOf []string

func (l oneOf) allows(p *parsed) bool { return slices.Contains(l, p.text) }
func (l oneOf) String() string        { return "one of " + strings.Join(l, ", ") }

// anyCase allows the words listed, whatever their case.
type anyCase []string

func (l anyCase) allows(p *parsed) bool {
	return slices.ContainsFunc(l, func(s string) bool { return strings.EqualFold(s, p.text) })
}
func (l anyCase) String() string { return "one of " + strings.Join(l, ", ") + " in any case" }

// notEmpty allows every string but the empty one.
type notEmpty struct{}

func (notEmpty) allows(p *parsed) bool { return p.text != "" }
func (notEmpty) String() string        { return "not empty" }

// setOf makes a set of a list, in order of first appearance (KIP-1161): elements are not empty, and among words if
// there are any.
type setOf struct {
	words []string
	some  bool // at least one element
}

func (l setOf) allows(p *parsed) bool {
	if l.some && len(p.list) == 0 {
		return false
	}
	var set []string
	seen := make(map[string]bool, len(p.list))
	for _, s := range p.list {
		if s == "" || l.words != nil && !slices.Contains(l.words, s) {
			return false
		}
		if !seen[s] {
			seen[s], set = true, append(set, s)
		}
	}
	p.list, p.text = set, strings.Join(set, ",")
	return true
}

func (l setOf) String() string {
	s := "each element not empty"
	if l.words != nil {
		s = "each element one of " + strings.Join(l.words, ", ")
	}
	if l.some {
		s = "at least one element, " + s
	}
	return s
}

// matching allows lists whose every element has a form, or that are one literal word.
type matching struct {
	pattern *regexp.Regexp
	words   string // what the pattern means
	or      string
}

func (l matching) allows(p *parsed) bool {
	if l.or != "" && p.text == l.or {
		return true
	}
	return !slices.ContainsFunc(p.list, func(s string) bool { return !l.pattern.MatchString(s) })
}

func (l matching) String() string { return l.words }

var (
	// throttled is the form of leader.replication.throttled.replicas and its follower's.
	throttled = matching{regexp.MustCompile(`^[0-9]+:[0-9]+$`), "each element PARTITION:BROKER, or *", "*"}
	voters    = matching{regexp.MustCompile(`^[0-9]+@[^@]+:[0-9]{1,5}$`), "each element ID@HOST:PORT", ""}
	servers   = matching{regexp.MustCompile(`^.+:[0-9]{1,5}$`), "each element HOST:PORT", ""}
)

// offsetReset is where a share group without offsets starts (KIP-932). The duration is in the form of Java's
// Duration.parse and not negative.
type offsetReset struct{}

var duration = regexp.MustCompile(`^by_duration:(?i:P(\+?\d+D)?(T(\+?\d+H)?(\+?\d+M)?(\+?\d+([.,]\d{0,9})?S)?)?)$`)

func (offsetReset) allows(p *parsed) bool {
	if p.text == "latest" || p.text == "earliest" {
		return true
	}
	m := duration.FindStringSubmatch(p.text)
	return m != nil && strings.ContainsAny(p.text, "0123456789") && m[2] != "T" && m[2] != "t"
}

func (offsetReset) String() string { return "latest, earliest or by_duration:PnDTnHnMn.nS" }
