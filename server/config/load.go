package config

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
)

// Options are where a broker's static configuration comes from. The zero value is a broker with nothing set.
type Options struct {
	// File is the name of a server.properties file, "" for none. It is read unless Data is not nil.
	File string
	// Data is the file's content, where the caller has it already; File is then for messages.
	Data []byte
	// Environ is the environment, as os.Environ has it. See EnvironmentKey for the names that count.
	Environ []string
	// Set are KEY=VALUE as given to --set. The last one of a key counts.
	Set []string
	// Flags are values of other flags by the key that they stand for, such as log.dirs for --data. A --set wins.
	Flags map[string]string
}

// maxFile is far above any properties file; it keeps a wrong name, a log file say, from being read as one.
const maxFile = 1 << 20 // bytes

// SettingError is a value that keeps the broker from starting.
type SettingError struct {
	Source   Source
	Key      string
	Value    string // "[hidden]" for sensitive keys
	Expected string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s: %s=%s: expected %s", e.Source, e.Key, e.Value, e.Expected)
}

// Load reads a broker's static configuration. Of several values for a key, --set wins over the environment and that over
// the file. The error joins a *SettingError for each bad value, or is the *SyntaxError or *os.PathError of the file.
func Load(o Options) (*Static, error) {
	s := &Static{settings: map[string]setting{}}
	if err := s.loadFile(o); err != nil {
		return nil, err
	}
	s.loadEnvironment(o.Environ)
	if err := s.loadFlags(o); err != nil {
		return nil, err
	}
	s.pairNodeID()
	errs := s.checkValues()
	if len(errs) == 0 {
		errs = s.checkTogether()
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

func (s *Static) loadFile(o Options) error {
	data := o.Data
	if data == nil && o.File != "" {
		info, err := os.Stat(o.File)
		if err != nil {
			return err
		}
		if info.Size() > maxFile {
			return fmt.Errorf("%s: %d bytes are too many for a properties file, expected at most %d", o.File, info.Size(), maxFile)
		}
		if data, err = os.ReadFile(o.File); err != nil {
			return err
		}
	}
	properties, err := ParseProperties(o.File, data)
	if err != nil {
		return err
	}
	for _, p := range properties {
		from := Source{FromFile, o.File, p.Line}
		if before, ok := s.settings[p.Key]; ok {
			s.warn("%s: %s is set again, the value of line %d does not count", from, p.Key, before.source.Line)
		}
		s.put(p.Key, p.Value, from)
	}
	return nil
}

// loadEnvironment takes the variables that name a key and warns of those that look as if they were to.
func (s *Static) loadEnvironment(environ []string) {
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		key, known, ours := environmentKey(name)
		if !ours {
			continue
		}
		if !known {
			s.warn("environment variable %s: there is no key %s", name, key)
			continue
		}
		s.put(key, value, Source{Kind: FromEnvironment, Name: name})
	}
}

// EnvironmentKey returns the key that an environment variable sets: ZURAU_ and the key in capitals, with _ for a dot, __
// for an underscore and ___ for a dash. zurau's own keys need no second ZURAU_: ZURAU_WRITER is zurau.writer. A variable
// that names no key sets none.
func EnvironmentKey(variable string) (key string, ok bool) {
	key, known, ours := environmentKey(variable)
	return key, known && ours
}

func environmentKey(variable string) (key string, known, ours bool) {
	name, ours := strings.CutPrefix(variable, "ZURAU_")
	if !ours || name == "" {
		return "", false, false
	}
	key = strings.ToLower(name)
	key = strings.NewReplacer("___", "-", "__", "_", "_", ".").Replace(key)
	if _, known = Lookup(KindBroker, key); known {
		return key, true, true
	}
	if _, known = Lookup(KindBroker, "zurau."+key); known {
		return "zurau." + key, true, true
	}
	return key, false, true
}

func (s *Static) loadFlags(o Options) error {
	for key, value := range o.Flags {
		s.put(key, value, Source{Kind: FromFlag, Name: "command line"})
	}
	for _, set := range o.Set {
		key, value, ok := strings.Cut(set, "=")
		if key = trim(key); !ok || key == "" {
			return fmt.Errorf("--set %s: expected KEY=VALUE", set)
		}
		s.put(key, value, Source{Kind: FromFlag, Name: "--set " + key})
	}
	return nil
}

func (s *Static) put(key, value string, from Source) { s.settings[key] = setting{value, from} }

func (s *Static) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// pairNodeID gives node.id and its old name broker.id the value of the one that is set, as Kafka does.
func (s *Static) pairNodeID() {
	node, hasNode := s.settings["node.id"]
	broker, hasBroker := s.settings["broker.id"]
	if hasNode && !hasBroker {
		s.settings["broker.id"] = node
	}
	if hasBroker && !hasNode {
		s.settings["node.id"] = broker
	}
}

// checkValues checks each value by itself, and warns of keys that are unknown or without effect.
func (s *Static) checkValues() (errs []error) {
	for _, name := range s.Names() {
		v := s.settings[name]
		k, ok := Lookup(KindBroker, name)
		if !ok {
			s.warn("%s: unknown key %s%s", v.source, name, s.nearest(name))
			continue
		}
		if !k.Supported() {
			s.warn("%s: %s has no effect", v.source, name)
		}
		if _, err := k.parse(v.value); err != nil {
			errs = append(errs, &SettingError{v.source, name, k.show(v.value), k.Expected()})
		}
	}
	sort.SliceStable(errs, func(i, j int) bool {
		return errs[i].(*SettingError).Source.Line < errs[j].(*SettingError).Source.Line
	})
	return errs
}

// nearest says which key was perhaps meant: a topic's key in a broker's file is a common mistake.
func (s *Static) nearest(name string) string {
	if k, ok := find(topicKeys, name); ok && k.Broker != "" {
		return ": it is a topic's, the broker's is " + k.Broker
	}
	return ""
}

// checkTogether checks what the values come to together.
func (s *Static) checkTogether() (errs []error) {
	for _, p := range (Layers{Static: s}).conflicts() {
		_, from, _ := s.Set(p.key)
		errs = append(errs, &SettingError{from, p.key, p.value, p.expected})
	}
	return errs
}
