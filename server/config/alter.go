package config

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Op is what IncrementalAlterConfigs does to a key. Its number is the one on the wire.
type Op int8

// The operations.
const (
	Set      Op = 0
	Delete   Op = 1 // back to the default
	Append   Op = 2 // to a list, what it does not have yet
	Subtract Op = 3 // from a list
)

func (o Op) String() string {
	switch o {
	case Set:
		return "SET"
	case Delete:
		return "DELETE"
	case Append:
		return "APPEND"
	case Subtract:
		return "SUBTRACT"
	}
	return fmt.Sprintf("operation %d", int8(o))
}

// Change is one change of a key. Value is not looked at by Delete.
type Change struct {
	Name  string
	Op    Op
	Value *string
}

// Reason is the kind of an Error.
type Reason int8

// The reasons to refuse a change.
const (
	InvalidConfig  Reason = iota // Kafka: INVALID_CONFIG
	InvalidRequest               // Kafka: INVALID_REQUEST
	UnknownOp                    // Kafka: UNKNOWN_SERVER_ERROR, without a message
)

// Error refuses a change.
type Error struct {
	Reason  Reason
	Message string
}

func (e *Error) Error() string { return e.Message }

func invalidConfig(format string, args ...any) error {
	return &Error{InvalidConfig, fmt.Sprintf(format, args...)}
}

func invalidRequest(format string, args ...any) error {
	return &Error{InvalidRequest, fmt.Sprintf(format, args...)}
}

// maxValue is the longest value that is kept, Kafka's limit too.
const maxValue = 32767 // bytes

// maxUnknown is how many keys that no table has a broker keeps: Kafka keeps any number of what it does not know.
const maxUnknown = 1000

// Alter is IncrementalAlterConfigs for one resource: it returns current with all changes made, or an *Error and makes
// none. current is the dynamic configuration of the resource itself and is not changed. The caller checks that the
// resource exists.
func (l Layers) Alter(kind Kind, name string, current map[string]string, changes []Change) (map[string]string, error) {
	return l.alter(kind, name, current, maps.Clone(current), changes)
}

// Replace is AlterConfigs for one resource: what it does not name goes back to the default. Changes are Set ones, whatever
// they say.
func (l Layers) Replace(kind Kind, name string, current map[string]string, values []Change) (map[string]string, error) {
	changes := slices.Clone(values)
	for i := range changes {
		changes[i].Op = Set
	}
	return l.alter(kind, name, current, nil, changes)
}

// alter makes changes to next, which is the caller's to give away.
func (l Layers) alter(kind Kind, name string, current, next map[string]string, changes []Change) (map[string]string, error) {
	if err := checkResource(kind, name); err != nil {
		return nil, err
	}
	if err := checkChanges(changes); err != nil {
		return nil, err
	}
	if next == nil {
		next = map[string]string{}
	}
	for _, c := range changes {
		if err := apply(kind, next, c); err != nil {
			return nil, err
		}
	}
	if kind == KindBroker {
		if err := l.checkELR(name, current, next, changes); err != nil {
			return nil, err
		}
	}
	if err := l.check(kind, name, current, next); err != nil {
		return nil, err
	}
	return next, nil
}

func checkResource(kind Kind, name string) error {
	switch kind {
	case KindTopic:
	case KindBroker:
		if _, ok := Int.parse(name); name != "" && !ok {
			return invalidRequest("Node id must be an integer, but it is: %s", name)
		}
	case KindGroup:
		if name == "" {
			return invalidRequest("Default group resources are not allowed.")
		}
	case KindClientMetrics:
		if name == "" {
			return invalidRequest("Subscription name can't be empty")
		}
	default:
		return invalidRequest("Unsupported resource type %d", int8(kind))
	}
	return nil
}

func checkChanges(changes []Change) error {
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.Name] {
			return invalidRequest("Error due to duplicate config keys")
		}
		seen[c.Name] = true
	}
	var null []string
	for _, c := range changes {
		if c.Value == nil && c.Op != Delete {
			null = append(null, c.Name)
		}
	}
	if len(null) > 0 {
		sort.Strings(null)
		return invalidRequest("Null value not supported for : %s", strings.Join(null, ","))
	}
	return nil
}

// apply makes one change. Lists of topics and brokers alone can be appended to, and an element is what stands between two
// commas, spaces and all: both as in Kafka.
func apply(kind Kind, m map[string]string, c Change) error {
	switch c.Op {
	case Set:
		m[c.Name] = *c.Value
		return nil
	case Delete:
		delete(m, c.Name)
		return nil
	case Append, Subtract:
	default:
		return &Error{Reason: UnknownOp}
	}
	k, ok := Lookup(kind, c.Name)
	if !ok || k.Type != List || kind != KindTopic && kind != KindBroker {
		return invalidConfig("Can't %s to key %s because its type is not LIST.", c.Op, c.Name)
	}
	value, set := m[c.Name]
	if !set && k.HasDefault() {
		value = k.Default
	}
	if len(value)+len(*c.Value) > 2*maxValue { // too long whatever comes of it, and a list is searched once for each element
		return invalidConfig("The value of %s is too long, expected at most %d bytes", c.Name, maxValue)
	}
	list := elements(value)
	for _, s := range strings.Split(*c.Value, ",") {
		has := slices.Contains(list, s)
		if c.Op == Append && !has {
			list = append(list, s)
		}
		if c.Op == Subtract && has {
			list = slices.DeleteFunc(list, func(e string) bool { return e == s })
		}
	}
	return apply(kind, m, Change{Name: c.Name, Op: Set, Value: ptr(strings.Join(list, ","))})
}

func elements(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func ptr(s string) *string { return &s }
