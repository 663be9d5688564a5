package wire

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Handler serves one API.
type Handler struct {
	Key      int16
	Min, Max int16 // versions

	// Overlaps lets requests that follow start before this one is answered: Produce and Fetch.
	Overlaps bool
	// Blocks says that Serve may wait, for a disk or for another request: it then has a goroutine to itself. Others run
	// on event loops and writers' goroutines, and must not wait.
	Blocks bool

	// Serve answers the request, now or later, once, by one of its methods. An error closes the connection.
	Serve func(*Request) error
}

// A Table finds handlers by key. It is made once and only read.
type Table struct {
	byKey map[int16]*entry
	all   []Handler
	large sync.Mutex // held while a large request is decoded
}

type entry struct {
	Handler
	flexible int16 // first flexible version
}

// NewTable returns the table of the handlers, which it lists in the order given. Two of one key are a bug.
func NewTable(handlers ...Handler) *Table {
	t := &Table{byKey: map[int16]*entry{}, all: handlers}
	for _, h := range handlers {
		if t.byKey[h.Key] != nil {
			panic("wire: two handlers for " + kmsg.NameForKey(h.Key))
		}
		t.byKey[h.Key] = &entry{h, flexibleFrom(h)}
	}
	return t
}

// Handlers lists the handlers.
func (t *Table) Handlers() []Handler { return t.all }

// flexibleFrom returns the first served version with tagged fields, or one that is not served.
func flexibleFrom(h Handler) int16 {
	r := kmsg.RequestForKey(h.Key)
	for v := h.Min; v <= h.Max; v++ {
		r.SetVersion(v)
		if r.IsFlexible() {
			return v
		}
	}
	return h.Max + 1
}
