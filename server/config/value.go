package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ValueError says that a value is not one that its key can have.
type ValueError struct {
	Key      string
	Value    string // "[hidden]" for sensitive keys
	Expected string // "a long, at least -1"
}

// Error begins as Kafka's message does, since programs look for it.
func (e *ValueError) Error() string {
	return fmt.Sprintf("Invalid value %s for configuration %s: expected %s", e.Value, e.Key, e.Expected)
}

// parsed is a value after its type was checked.
type parsed struct {
	text   string  // canonical
	number float64 // of numeric types: exact up to 2^53, which is enough for every limit but the type's own
	list   []string
}

// Validate returns a *ValueError if the key cannot have this value.
func (k *Key) Validate(value string) error {
	_, err := k.parse(value)
	return err
}

// Canonical returns the value as DescribeConfigs shows it: without the spaces around it and its elements, numbers as
// Java prints them, lists without repetitions where the key's elements are a set.
func (k *Key) Canonical(value string) (string, error) {
	p, err := k.parse(value)
	return p.text, err
}

func (k *Key) parse(value string) (parsed, error) {
	p, ok := k.Type.parse(trim(value))
	if ok && strings.IndexByte(value, 0) < 0 {
		if k.Limit == nil || k.Limit.allows(&p) {
			return p, nil
		}
	}
	return parsed{}, &ValueError{Key: k.Name, Value: k.show(value), Expected: k.Expected()}
}

// Expected says in words which values the key can have.
func (k *Key) Expected() string {
	if k.Limit == nil {
		return k.Type.expected()
	}
	return k.Type.expected() + ", " + k.Limit.String()
}

// show hides what must not be in a message, and cuts what is too long for one.
func (k *Key) show(value string) string {
	const longest = 256 // bytes: values come from the wire
	if k.Sensitive() {
		return "[hidden]"
	}
	if len(value) > longest {
		value = value[:longest] + "..."
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}

// trim removes what Java's String.trim does: everything up to and including the space, at both ends.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

func (t Type) expected() string {
	switch t {
	case Boolean:
		return "true or false"
	case Int:
		return "an int"
	case List:
		return "a list separated by commas"
	default:
		return "a " + t.String()
	}
}

func (t Type) parse(s string) (parsed, bool) {
	switch t {
	case Boolean:
		s = strings.ToLower(s)
		return parsed{text: s}, s == "true" || s == "false"
	case Short:
		return parseInteger(s, 16)
	case Int:
		return parseInteger(s, 32)
	case Long:
		return parseInteger(s, 64)
	case Double:
		return parseDouble(s)
	case List:
		l := splitList(s)
		return parsed{text: strings.Join(l, ","), list: l}, true
	default:
		return parsed{text: s}, true
	}
}

func parseInteger(s string, bits int) (parsed, bool) {
	n, err := strconv.ParseInt(s, 10, bits)
	return parsed{text: strconv.FormatInt(n, 10), number: float64(n)}, err == nil
}

// parseDouble takes Java's notation. Kafka takes NaN too, which no limit then refuses; nothing sensible follows from it.
func parseDouble(s string) (parsed, bool) {
	if n := len(s); n > 1 && strings.IndexByte("dDfF", s[n-1]) >= 0 && !strings.ContainsAny(s, "xX") {
		s = s[:n-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || strings.Contains(s, "_") {
		return parsed{}, false
	}
	return parsed{text: formatDouble(f), number: f}, true
}

// formatDouble writes a double as Java does: 0.5, 1.0, 1.0E7, 1.7976931348623157E308.
func formatDouble(f float64) string {
	if math.IsInf(f, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', 0, 64), "+") + "inity"
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

// splitList splits at commas and removes the spaces around them. Nothing is the empty list; an element may be empty.
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	l := strings.Split(s, ",")
	for i := range l {
		l[i] = trim(l[i])
	}
	return l
}
