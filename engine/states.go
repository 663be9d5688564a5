package engine

import (
	"context"
	"errors"
	"log/slog"
)

// A State names a row of the recovery table: one way in which a crash, a torn write, a lost flush, a flipped bit, or a
// missing or foreign file can leave a directory. Log lines, errors and zurau log verify carry it.
type State string

// Harm is how bad a state is.
type Harm uint8

const (
	// Note is what an ordinary stop, a crash or somebody's own files leave: nothing is lost.
	Note Harm = iota
	// Torn is what only a crash leaves, beyond the recovery point: what is lost was never promised.
	Torn
	// Healed is damage of what is made again from the log: nothing is lost.
	Healed
	// Damage is what no crash explains, and may have taken records.
	Damage
)

// A Row is a row of the recovery table.
type Row struct {
	State State
	Harm  Harm
	// Unseen says that a start does not look for it: only the scrub and zurau log verify find it.
	Unseen bool
	Seen   string // what is seen
	Means  string // what it means
	Done   string // what the next start does
}

// States returns the recovery table.
func States() []Row { return append([]Row(nil), table[:]...) }

// Row returns the state's row; a state that is none has an empty one.
func (s State) Row() Row {
	for _, r := range table {
		if r.State == s {
			return r
		}
	}
	return Row{}
}

// StateOf returns the row that the error of a log that is offline names (Log.Err), or "" where the cause is another.
func StateOf(err error) State {
	var c *corruption
	if errors.As(err, &c) {
		return c.state
	}
	return ""
}

// corruption is damage that no crash explains: it is neither cut nor served.
type corruption struct {
	state State
	err   error
}

func (c *corruption) Error() string { return string(c.state) + ": " + c.err.Error() + ": " + remedy }
func (c *corruption) Unwrap() error { return c.err }

// remedy is what an operator can do about a log that is offline.
const remedy = "restore the file from a replica or a backup, or see what can be done: stop the broker, zurau log verify, zurau log repair"

// meet counts a state that a recovery has met, and says so.
func (r *recovering) meet(s State, args ...any) {
	r.done.meet(s)
	r.e.tell(s, append([]any{"partition", r.name}, args...)...)
}

func (r *Recovery) meet(s State) { r.add(s, 1) }

func (r *Recovery) add(s State, n int) {
	if r.States == nil {
		r.States = map[State]int{}
	}
	r.States[s] += n
}

// meet is for what is not of one log.
func (e *Engine) meet(s State, args ...any) {
	e.recovered.meet(s)
	e.tell(s, args...)
}

func (e *Engine) tell(s State, args ...any) {
	row := s.Row()
	level := [...]slog.Level{Note: slog.LevelDebug, Torn: slog.LevelWarn, Healed: slog.LevelWarn, Damage: slog.LevelError}[row.Harm]
	e.log.Log(context.Background(), level, row.Seen, append([]any{"state", s, "means", row.Means, "done", row.Done}, args...)...)
}

// String returns the harm's word.
func (h Harm) String() string {
	return [...]string{Note: "note", Torn: "torn", Healed: "healed", Damage: "damage"}[h]
}
