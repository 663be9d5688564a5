package engine

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zurau/zurau/engine/fs"
)

// The stage is where the appends of async logs are before a writer puts them into their segments: memory that is the page
// cache of one file, mapped. What is copied there outlives the process as if it had been written to the segment, so
// an append is acknowledged by whoever makes it, without a call into the kernel and without another goroutine; and
// the segments are written in few large pieces. A recovery puts what a killed process left there into the segments
// (redo). After a power cut nothing of it is believed: async promised nothing then.
//
//	| block of 1 MiB            | block of 1 MiB                             |
//	| slot                      | slot        | slot        | ...            |
//	| header page | records     | header page | records | header ...
//
// A block is one slot, or as many of one smaller class as fit. A slot is the memory of one run.
type stage struct {
	mem    fs.Shared
	boot   string
	space  *space
	failed func() error // why the directory is offline

	mu struct {
		sync.Mutex
		blocks  []block
		partial [classes][]int // blocks with slots of a class that are free, in the order of their use
		empty   []int          // blocks without a slot in use
		limit   int
		sizing  bool      // the file's size is being changed
		idle    time.Time // since when no slot is in use; zero while one is
		live    int
		closed  bool
	}
	resting resting
	tending tending
}

type block struct {
	class int
	free  uint64 // bit i: slot i is free
}

const (
	// stageName is the mapped file, in the log directory. Kafka passes it over.
	stageName = "zurau-stage"
	// stageBlock is also the largest slot, header included.
	stageBlock = maxRun
	// slotHeader is what a slot's records begin behind: a page, so that direct writes find them aligned.
	slotHeader = fs.BlockSize
	// stageLinger is how long records may wait in the stage for more to come: what reads a segment beside this process, a
	// copy of the directory say, is so much behind.
	stageLinger = 50 * time.Millisecond
	// stageIdle is how long the stage keeps its memory without use.
	stageIdle = 2 * time.Second
)

// openStage makes the stage, which is empty. Where it cannot be had, appends are acknowledged by the writers.
func (e *Engine) openStage() {
	limit, boot := e.opt.StageBytes/stageBlock, e.fs.Boot()
	if limit <= 0 {
		return
	}
	if boot == "" {
		e.log.Info("appends are acknowledged when they are in their files: the kernel does not name this run of the machine")
		return // a recovery could not tell a kill from a power cut
	}
	mem, err := e.fs.Share(filepath.Join(e.opt.Dir, stageName), limit*stageBlock)
	if err != nil {
		e.log.Info("appends are acknowledged when they are in their files: no memory can be shared with the page cache", "error", err)
		return
	}
	e.stage = &stage{mem: mem, boot: boot, space: &e.space, failed: e.failed}
	e.stage.mu.limit = int(limit)
	e.stage.resting.wake = make(chan struct{}, 1)
	e.stage.tending.more, e.stage.tending.began = make(chan struct{}, 1), time.Now()
}

// get returns a slot for n bytes of records, of the given class at least, or nil where there is none.
func (s *stage) get(n, class int) *buffer {
	size := minRun << (2 * class)
	for ; n > size-slotHeader; size *= 4 {
		if class++; class == classes {
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed() != nil {
		return nil // slots are free now whose records nobody has written: the next start does
	}
	i, ok := s.blockOf(class)
	if !ok {
		return nil
	}
	b := &s.mu.blocks[i]
	k := bits.TrailingZeros64(b.free)
	if b.free &^= 1 << k; b.free == 0 {
		list := s.mu.partial[class]
		s.mu.partial[class] = list[:len(list)-1]
	}
	s.mu.live++
	s.mu.idle = time.Time{}
	at := int64(i)*stageBlock + int64(k*size)
	return &buffer{bytes: s.mem.Bytes()[at+slotHeader : at+int64(size) : at+int64(size)], class: class, stage: s, at: at}
}

// blockOf returns a block with a free slot of the class, the last of its list.
func (s *stage) blockOf(class int) (int, bool) {
	if list := s.mu.partial[class]; len(list) > 0 {
		return list[len(list)-1], true
	}
	i := -1
	if n := len(s.mu.empty); n > 0 {
		i = s.mu.empty[n-1]
		s.mu.empty = s.mu.empty[:n-1]
	}
	if len(s.mu.empty) == 0 {
		s.wantMore()
	}
	if i < 0 || s.clean(i, class) != nil {
		return 0, false
	}
	s.mu.blocks[i] = block{class: class, free: allFree(class)}
	s.mu.partial[class] = append(s.mu.partial[class], i)
	return i, true
}

// clean takes what looks like headers out of a block: where those of its slots will be may lie records that a client chose. Then
// the block has its class, which a kill while its first slot is labelled must not hide: others hold records by then.
func (s *stage) clean(i, class int) error {
	return s.mem.Update(int64(i)*stageBlock, stageBlock, func(b []byte) {
		for at := 0; at < stageBlock; at += minRun << (2 * class) {
			clear(b[at : at+slotNames])
		}
		binary.NativeEndian.PutUint32(b[16:], uint32(class))
		binary.NativeEndian.PutUint64(b, slotMagic)
	})
}

// allFree is the mask of a block without a slot in use.
func allFree(class int) uint64 {
	n := stageBlock / (minRun << (2 * class))
	return 1<<n - 1 // for 64 the shift gives 0, and 0-1 all ones
}

// put gives a slot back.
func (s *stage) put(b *buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := int(b.at / stageBlock)
	bl := &s.mu.blocks[i]
	if bl.free == 0 {
		s.mu.partial[b.class] = append(s.mu.partial[b.class], i)
	}
	bl.free |= 1 << (b.at % stageBlock / int64(minRun<<(2*b.class)))
	if bl.free == allFree(b.class) {
		list := s.mu.partial[b.class]
		for k := range list {
			if list[k] == i {
				s.mu.partial[b.class] = append(list[:k], list[k+1:]...)
				break
			}
		}
		s.mu.empty = append(s.mu.empty, i)
	}
	if s.mu.live--; s.mu.live == 0 {
		s.mu.idle = time.Now()
		if s.mu.closed {
			_ = s.mem.Close() // the engine is gone: nothing depends on it
		}
	}
}

// The header of a slot says where its records belong; magic and class of the first one are those of its block, and stay. Numbers
// are in the machine's byte order: nobody else reads them.
//
//	 0  magic                          40  offset of the first record
//	 8  bytes of records, set last     48  partition
//	16  class                          52  length of the topic's name
//	20  where they begin behind it     54  length of the boot's name
//	24  their position in the file     56  topic id
//	32  base offset of the segment     72  name of the boot, then of the topic
const (
	slotMagic   = 0x31656761_7473757a // "zustage1"
	slotUsed    = 8
	slotNames   = 72
	maxSlotBoot = 64
)

// label writes the header for a run without records.
func (s *stage) label(r *run, n Name, id [16]byte, first int64) error {
	b := r.mem
	return s.mem.Update(b.at, slotHeader, func(h []byte) {
		o := binary.NativeEndian
		setUsed(h, 0)
		boot := s.boot[:min(len(s.boot), maxSlotBoot)]
		o.PutUint32(h[16:], uint32(b.class))
		o.PutUint32(h[20:], uint32(r.position%fs.BlockSize))
		o.PutUint64(h[24:], uint64(r.position))
		o.PutUint64(h[32:], uint64(r.seg.Base))
		o.PutUint64(h[40:], uint64(first))
		o.PutUint32(h[48:], uint32(n.Partition))
		o.PutUint16(h[52:], uint16(len(n.Topic)))
		o.PutUint16(h[54:], uint16(len(boot)))
		copy(h[56:72], id[:])
		copy(h[slotNames:], boot)
		copy(h[slotNames+len(boot):], n.Topic)
		o.PutUint64(h[0:], slotMagic)
	})
}

// setUsed makes the first n bytes of records count. The records were stored before it, and a process that is killed leaves
// its stores in their order.
func setUsed(header []byte, n int) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&header[slotUsed])), uint64(n))
}

// written says that the records of a slot are in their segment.
func (s *stage) written(b *buffer) error {
	s.mem.Keep(b.at, slotHeader)
	return s.mem.Update(b.at, slotHeader, func(h []byte) { setUsed(h, 0) })
}

// change runs f, which changes the memory of a buffer: that may be a slot's. f calls nothing that waits.
func (b *buffer) change(f func()) error {
	if b == nil || b.stage == nil {
		f()
		return nil
	}
	return b.stage.mem.Update(b.at+slotHeader, int64(len(b.bytes)), func([]byte) { f() })
}

// resting is the logs whose last run waits for more to come, in the order in which their time is over.
type resting struct {
	mu    sync.Mutex
	queue []rest
	wake  chan struct{}
}

type rest struct {
	log    *Log
	serial uint64 // of the run
	due    time.Time
}

func (r *resting) add(l *Log, serial uint64) {
	r.mu.Lock()
	r.queue = append(r.queue, rest{l, serial, time.Now().Add(stageLinger)})
	first := len(r.queue) == 1
	r.mu.Unlock()
	if first {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// run hands logs to the writers when their time is over, until quit.
func (r *resting) run(quit chan struct{}) {
	var due []rest
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := time.Now()
		r.mu.Lock()
		n := 0
		for n < len(r.queue) && !r.queue[n].due.After(now) {
			n++
		}
		due = append(due[:0], r.queue[:n]...)
		k := copy(r.queue, r.queue[n:])
		clear(r.queue[k:])
		r.queue = r.queue[:k]
		wait := time.Hour
		if k > 0 {
			wait = r.queue[0].due.Sub(now)
		}
		r.mu.Unlock()
		for _, d := range due {
			d.log.rested(d.serial)
		}
		clear(due)
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		case <-quit:
			return
		}
	}
}

// closeStage gives the mapping back once no reader holds a slot. With empty, nothing in it is wanted by a recovery.
func (e *Engine) closeStage(empty bool) error {
	s := e.stage
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.mu.closed = true
	held := s.mu.live > 0 // by readers, the last of whom closes the file
	s.mu.Unlock()
	if held {
		return nil
	}
	var err error
	if empty {
		err = s.mem.Drop()
	}
	return errors.Join(err, s.mem.Close())
}

// forgetStaged makes it durable that the stage holds nothing of the log: a disk that lost its cache while the kernel went on
// might else show a recovery what was there before.
func (l *Log) forgetStaged() error {
	if !l.w.staged.Load() {
		return nil
	}
	return l.e.failIfFinal(l.e.stage.mem.Sync())
}
