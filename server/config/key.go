package config

// Type is the type of a key's value. Its number is the one that DescribeConfigs (v3 and newer) has for it.
type Type int8

// The types of Kafka's ConfigDef.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3 // 32 bits
	Short    Type = 4 // 16 bits
	Long     Type = 5 // 64 bits
	Double   Type = 6
	List     Type = 7 // separated by commas, with spaces around them ignored
	Class    Type = 8 // the name of a Java class: kept, never loaded
	Password Type = 9
)

var typeNames = [...]string{
	Boolean: "boolean", String: "string", Int: "int", Short: "short", Long: "long", Double: "double", List: "list",
	Class: "class", Password: "password",
}

func (t Type) String() string {
	if t < 1 || int(t) >= len(typeNames) {
		return "unknown"
	}
	return typeNames[t]
}

// Importance says how likely a key is to need another value than its default.
type Importance int8

// The importances of Kafka's documentation.
const (
	Low Importance = iota
	Medium
	High
)

func (i Importance) String() string { return [...]string{"low", "medium", "high"}[i] }

// Mode says how a key of a broker may be changed while the broker runs. Keys of topics, groups and client metrics
// subscriptions may always be: theirs is ReadOnly's zero value and has no meaning.
type Mode int8

const (
	// ReadOnly keys are read once, at start.
	ReadOnly Mode = iota
	// PerBroker keys may be changed for one broker, never for the whole cluster at once.
	PerBroker
	// ClusterWide keys may be changed for one broker and for all.
	ClusterWide
)

func (m Mode) String() string { return [...]string{"read-only", "per-broker", "cluster-wide"}[m] }

// Flags are properties that few keys have.
type Flags uint8

const (
	// Inert keys are parsed, checked and described as Kafka does, and zurau does not act on them.
	Inert Flags = 1 << iota
	// Internal keys are described only where they are set.
	Internal
	// Ours are the keys and defaults that Kafka does not have.
	Ours
)

// Null is the default of a key that has none. A value from outside is never equal to it: a zero byte in one is refused.
const Null = "\x00"

// Key is one configuration key.
type Key struct {
	Name       string
	Type       Type
	Default    string // in canonical form, see Key.Canonical; or Null
	Limit      Limit  // nil: any value of the type
	Importance Importance
	Mode       Mode
	Flags      Flags
	// Broker names the broker's key that a topic or a group takes its value from where it has none of its own.
	Broker string
	Doc    string
}

// HasDefault is false for keys that are described as null where they are not set.
func (k *Key) HasDefault() bool { return k.Default != Null }

// Sensitive keys are never shown: described without a value, hidden in messages.
func (k *Key) Sensitive() bool { return k.Type == Password }

// Supported is false for keys that zurau does not act on.
func (k *Key) Supported() bool { return k.Flags&Inert == 0 }

// Internal is true for keys that are described only where they are set.
func (k *Key) Internal() bool { return k.Flags&Internal != 0 }

// Documentation is the text for DescribeConfigs: Doc, and a sentence where zurau does not act on the key.
func (k *Key) Documentation() string {
	if !k.Supported() {
		return k.Doc + " zurau accepts this key and does not act on it."
	}
	return k.Doc
}
