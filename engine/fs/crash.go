package fs

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// Crash is the twin of the host's file system: it lives in memory, knows for every byte and every name whether it is
// on stable storage, and can be asked at any moment what a power cut would leave (Clone).
//
// # What is pending, what may land
//
//	                 Write, Push     Truncate         Open(O_CREATE), Rename, Remove, MkdirAll
//	running          seen at once    seen at once     seen at once
//	pending until    Datasync of     Datasync of      SyncDir of the directory
//	                 the file, or    the file
//	                 durable
//	after a cut      sector by       a prefix of the  each independent one or not
//	                 sector          size changes
//
// Content is pending in versions: a write leaves one version of each block (BlockSize bytes) that it touches, valid for
// the sectors (512 bytes) that it touches. A block on the disk is what was flushed, with any choice of its pending
// versions laid over it in any order, each whole or torn between sectors. Nothing ties one block to another, the
// content to the size, or a file to its name:
//
//	flushed      |aaaa|aaaa|        blocks, drawn as 4 bytes each; size 8
//	write at 6   |....|..bb|bb      pending: block 1, block 2, size 10
//	after a cut  |aaaa|aaaa|        nothing landed, or block 2 without the size
//	             |aaaa|aabb|        block 1 landed
//	             |aaaa|aabb|00      block 1 and the size: a hole at the end
//	             |aaaa|aaaa|bb      block 2 and the size: a hole before valid bytes
//	             |aaaa|aabb|bb      all of it
//
// A size that shrinks and grows again goes back step by step, in order: when the shrinking is lost, the old bytes
// behind it are there again, possibly behind new ones. A growth may land up to any block boundary.
//
// A durable write is on stable storage when it has completed, with a size that covers it, and nothing older lies over
// it. Datasync covers what had completed before. A write that is in flight in a Queue may be there, not there, or torn.
//
// Names: an operation waits for earlier ones on the same name or the same file, so a file is at two names only where it was
// linked, and a renamed file is never lost; independent names are independent. A directory that was not synced into its parent
// takes its files with it. A failed Datasync leaves what it should have flushed pending for good, as Linux does: it may
// have landed or not, and later calls succeed without it.
//
// # Use
//
// A test runs the engine on a disk, takes a Clone at any moment (inside the Hook, too), opens the engine on the clone
// and checks what it promised. The clone has no history: nothing is pending in it, its counts start at zero. The
// directories above the engine's own are the test's to sync, or Settle does it.
//
// It is safe for concurrent use, and for one order of calls everything random in it follows from the seed.
type Crash struct {
	mu struct {
		sync.Mutex
		rng     *rand.Rand
		root    *node // of absolute names
		here    *node // of relative names
		names   []*nameChange
		locks   map[string]bool
		counts  Counts
		read    map[string]int64 // bytes by the name that the file was opened with
		broken  []error
		closed  []string
		faults  Faults
		hook    Hook
		changes int
		numbers uint64 // of inodes, so far
		halted  error
		boot    string
		space   int64 // capacity in blocks
		used    int64 // blocks
		// reflinks says whether files can share blocks.
		reflinks bool
	}
}

// sector is what a device writes whole or not at all, in bytes.
const sector = 512

// sectors of one block: one bit each in image.sectors.
const sectors = BlockSize / sector

// defaultSpace is the capacity of a new disk in blocks: 1 TiB, so that nobody meets it by accident.
const defaultSpace = 1 << 40 / BlockSize

// Op is a kind of call, for Hook.
type Op int

// The kinds of calls. OpWrite and OpWriteDurable are writes by File and by Queue, the latter at their completion; so is
// OpDatasync. OpQueue and OpWait are NewQueue and Wait, without a name of a file.
const (
	OpOpen Op = iota
	OpWrite
	OpWriteDurable
	OpDatasync
	OpTruncate
	OpRename
	OpRemove
	OpMkdir
	OpSyncDir
	OpLock
	OpLink
	OpRead
	OpMap
	OpStat
	OpReadDir
	OpClose
	OpQueue
	OpWait
)

var opNames = [...]string{"open", "write", "write durable", "datasync", "truncate", "rename", "remove", "mkdir", "syncdir",
	"lock", "link", "read", "map", "stat", "readdir", "close", "new queue", "wait"}

func (op Op) String() string { return opNames[op] }

// Changes reports whether a call of this kind can change the disk or what is durable.
func (op Op) Changes() bool { return op < OpRead }

// Hook is called before each call, outside of all locks: it may call Clone. n counts the calls that can change the
// disk (Op.Changes) from 1; a call that cannot gets the number of the last one that could. An error fails the call with
// it: a write then leaves any prefix of itself, a Datasync nothing for certain, a descriptor is closed anyway, a queue
// loses what is in flight, anything else did not happen. ErrShort and Delayed are faults of their own. Rename and Link pass the
// old name.
type Hook func(op Op, name string, n int) error

// Faults are planted bugs: what a test of the tests needs. They change promises, not what the running process sees.
type Faults struct {
	IgnoreDatasync bool // Datasync and PushSync succeed and flush nothing
	IgnoreDurable  bool // durable writes are ordinary ones
	IgnoreSyncDir  bool // SyncDir succeeds and settles nothing
	NoQueue        bool // NewQueue returns ErrUnsupported
	NoMap          bool // Map returns ErrUnsupported
	NoShare        bool // Share returns ErrUnsupported
}

// Counts says what was asked of the disk since NewCrash or Clone. Writes includes DurableWrites.
type Counts struct {
	Opens, Reads, Writes, DurableWrites, Datasyncs, SyncDirs, Truncates, Renames, Removes int
	ReadBytes, WrittenBytes                                                               int64
}

// NewCrash returns an empty disk with the directories "/" and ".".
func NewCrash(seed uint64) *Crash {
	c := &Crash{}
	c.mu.rng = rand.New(rand.NewPCG(seed, 0x7a757261752d6673)) // second word: any constant
	c.mu.root, c.mu.here = newDir(), newDir()
	c.mu.locks = map[string]bool{}
	c.mu.read = map[string]int64{}
	c.mu.space = defaultSpace
	c.mu.boot = fmt.Sprintf("%016x", c.mu.rng.Uint64())
	return c
}

// SetHook sets the function that sees every call from now on; nil removes it.
func (c *Crash) SetHook(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.hook = h
}

// SetFaults plants bugs from now on.
func (c *Crash) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.faults = f
}

// SetCapacity sets the size of the disk in bytes. A write that needs more blocks than are free fails with ENOSPC and
// leaves nothing.
func (c *Crash) SetCapacity(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.space = bytes / BlockSize
}

// Halt fails every later call with err: after a cut the old process must not go on.
func (c *Crash) Halt(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.halted = err
}

// Counts returns what was counted so far.
func (c *Crash) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.counts
}

// BytesRead returns how many bytes ReadAt gave of files that were opened with this name: a test of recovery asks it
// whether only the end of a segment was scanned.
func (c *Crash) BytesRead(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.read[name]
}

// Violations returns what broke a rule of the interfaces, in order: two writes in flight on one block, a buffer that
// changed in flight, a plain write, truncate or close under a write in flight.
func (c *Crash) Violations() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]error(nil), c.mu.broken...)
}

// ClosedUnflushed returns the names of files that were closed with writes or truncates of theirs pending, while they
// still had a name, in order.
func (c *Crash) ClosedUnflushed() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.mu.closed...)
}

// before counts a call and asks the hook. c.mu is not held.
func (c *Crash) before(op Op, name string) error {
	c.mu.Lock()
	if op.Changes() {
		c.mu.changes++
	}
	n, hook, halted := c.mu.changes, c.mu.hook, c.mu.halted
	c.mu.Unlock()
	if halted != nil {
		return halted
	}
	if hook != nil {
		return hook(op, name, n)
	}
	return nil
}
