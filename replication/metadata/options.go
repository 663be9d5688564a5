package metadata

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

// Options says where a node keeps its metadata and who the others are. Dir is required; everything else has a zero
// value that works and makes a cluster of one.
type Options struct {
	Dir    string // data directory, which exists
	FS     fs.FS  // nil: the operating system's
	NodeID int32  // 0 or more; the directory remembers it, and is refused to another

	// Voters are the node ids of the controllers, NodeID among them; empty: NodeID alone. The directory remembers
	// them. More than one need a Transport.
	Voters    []int32
	Transport Transport
	// Tick is the unit of Raft's clock with several voters: heartbeats every tick, elections after 10 to 20 without
	// one. 0: 100 ms. A single voter has no clock.
	Tick time.Duration

	// AtFirst decides what a directory's metadata begins with at its first start, such as what another program left there.
	// It is asked again at the next start where this one did not get as far as the flush, and never after that. A cluster id
	// is added where the records have none. Open fails with its error. nil: nothing.
	AtFirst func() ([]Record, error)

	// AtStart decides records that a single voter commits together with its start record, in the same flush: the
	// broker's registration. Open fails with its error. nil: none.
	AtStart func(*Image) ([]Record, error)

	// CompactBytes is the size of the log file from which a snapshot replaces it, if it is also twice as large as the
	// last snapshot. 0: 4 MiB, which replays in a few milliseconds.
	CompactBytes int64

	Rand   io.Reader    // of ids; nil: crypto/rand
	Logger *slog.Logger // nil: silent
}

// Transport carries messages between voters, in any order, and may lose them: Raft sends again.
type Transport interface {
	// Send hands a message to the transport, which owns it from then on. It is called on the node's goroutine and must
	// not block: false says that it did not take the message. The peer's transport calls Node.Receive with the bytes.
	Send(to int32, message []byte) bool
}

func (o Options) withDefaults() (Options, error) {
	if o.FS == nil {
		o.FS = fs.OS()
	}
	if len(o.Voters) == 0 {
		o.Voters = []int32{o.NodeID}
	}
	o.Voters = slices.Compact(slices.Sorted(slices.Values(o.Voters)))
	if o.Tick == 0 {
		o.Tick = 100 * time.Millisecond
	}
	if o.CompactBytes == 0 {
		o.CompactBytes = 4 << 20
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Dir == "":
		return o, errors.New("metadata: no directory given")
	case o.Voters[0] < 0 || o.NodeID < 0 || o.NodeID == math.MaxInt32:
		return o, fmt.Errorf("metadata: node id %d, voters %v: ids are 0 or more", o.NodeID, o.Voters)
	case !slices.Contains(o.Voters, o.NodeID):
		return o, fmt.Errorf("metadata: node id %d is not among the voters %v", o.NodeID, o.Voters)
	case len(o.Voters) > 1 && o.Transport == nil:
		return o, fmt.Errorf("metadata: voters %v need a transport", o.Voters)
	}
	return o, nil
}

// raftID is a node's id among Raft's, where 0 means nobody.
func raftID(node int32) uint64 { return uint64(node) + 1 }

func nodeID(raftID uint64) int32 { return int32(int64(raftID) - 1) }
