package config

import (
	"fmt"
	"maps"
	"sort"
)

// Source says where a value of a broker's static configuration was written.
type Source struct {
	Kind SourceKind
	// Name is the file's name, the environment variable's, or the flag as it was given.
	Name string
	Line int // of a file, from 1
}

// SourceKind is the kind of a Source. A higher one wins over a lower one.
type SourceKind int8

// The sources, in order of precedence.
const (
	FromDefault SourceKind = iota
	FromFile
	FromEnvironment
	FromFlag
)

// String is for messages: "server.properties:12", "environment variable ZURAU_LOG_DIRS", "--set log.dirs".
func (s Source) String() string {
	switch s.Kind {
	case FromFile:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	case FromEnvironment:
		return "environment variable " + s.Name
	case FromFlag:
		return s.Name
	}
	return "default"
}

// Static is what a broker was started with. It does not change. A nil *Static is a broker started with nothing set.
type Static struct {
	settings map[string]setting
	warnings []string
}

type setting struct {
	value  string
	source Source
}

// Set returns a value that was written somewhere, as it was written, and where.
func (s *Static) Set(name string) (value string, from Source, ok bool) {
	if s == nil {
		return "", Source{}, false
	}
	v, ok := s.settings[name]
	return v.value, v.source, ok
}

// With returns a copy in which a key has a value, written at from.
func (s *Static) With(name, value string, from Source) *Static {
	c := &Static{settings: map[string]setting{}}
	if s != nil {
		c.warnings = s.warnings
		maps.Copy(c.settings, s.settings)
	}
	c.put(name, value, from)
	c.pairNodeID()
	return c
}

// Names lists everything that was written somewhere, unknown keys too, in order.
func (s *Static) Names() []string {
	if s == nil {
		return nil
	}
	names := make([]string, 0, len(s.settings))
	for name := range s.settings {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Warnings are what the reader of the log should know about the configuration and what did not keep the broker from
// starting: keys that are unknown, written twice, or without effect.
func (s *Static) Warnings() []string {
	if s == nil {
		return nil
	}
	return s.warnings
}
