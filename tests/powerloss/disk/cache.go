package disk

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Sector is what a disk writes whole or not at all, in bytes.
const Sector = 512

// maxPending bounds the versions that wait, in bytes. A disk whose cache is full writes by itself what has waited for longest.
const maxPending = 256 << 20

// ErrOff says that a disk has no power.
var ErrOff = errors.New("no power")

// A Policy says what of a cache a power cut lands.
type Policy int

const (
	// None lands nothing that was not flushed.
	None Policy = iota
	// Any lands any version of each sector, or none.
	Any
	// Writes lands any of the writes, each whole or not at all, in any order.
	Writes
	// Prefix lands the writes up to a moment, and of the last one some sectors.
	Prefix
	policies
)

func (p Policy) String() string { return [...]string{"none", "any", "writes", "prefix"}[p] }

// Policies are all of them.
func Policies() []Policy {
	all := make([]Policy, policies)
	for i := range all {
		all[i] = Policy(i)
	}
	return all
}

// Image is what a cache stands before.
type Image interface {
	io.ReaderAt
	io.WriterAt
}

// A Cache keeps what was written to an image and not flushed. Its methods may be called from anywhere.
type Cache struct {
	image Image

	mu struct {
		sync.Mutex
		writes  []write           // in their order
		newest  map[int64]version // of each sector that waits, by its number
		off     bool
		pending int
		counts  Counts
	}
}

// A write is whole sectors that were written at once.
type write struct {
	first int64 // sector
	data  []byte
}

// sectors is how many there are in it.
func (w write) sectors() int64 { return int64(len(w.data)) / Sector }

// sector returns the bytes of one, by its number on the disk.
func (w write) sector(n int64) []byte { return w.data[(n-w.first)*Sector:][:Sector] }

// A version is where in the writes a sector's bytes are.
type version []byte

// Counts is what became of writes so far.
type Counts struct {
	Writes, Flushes int
	Versions        int   // of sectors, that a cut found waiting
	Landed          int   // of those, that it landed
	Destaged        int   // writes that went to the image because the cache was full
	CutAt           int64 // when the last cut was, by Now
}

// Now is the machine's monotonic clock, which all processes share, in ns.
func Now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it has no errors
	return ts.Nano()
}

// NewCache returns an empty cache before an image.
func NewCache(image Image) *Cache {
	c := &Cache{image: image}
	c.mu.newest = map[int64]version{}
	return c
}

// ReadAt reads the newest version of everything.
func (c *Cache) ReadAt(p []byte, at int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.off {
		return 0, ErrOff
	}
	return c.readLocked(p, at)
}

func (c *Cache) readLocked(p []byte, at int64) (int, error) {
	n, err := c.image.ReadAt(p, at)
	if len(c.mu.newest) == 0 {
		return n, err
	}
	for s := at / Sector; s*Sector < at+int64(n); s++ {
		if v, ok := c.mu.newest[s]; ok {
			from, to := max(s*Sector, at), min((s+1)*Sector, at+int64(n))
			copy(p[from-at:to-at], v[from-s*Sector:to-s*Sector])
		}
	}
	return n, err
}

// WriteAt takes a write into the cache.
func (c *Cache) WriteAt(p []byte, at int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.off {
		return 0, ErrOff
	}
	w := write{first: at / Sector}
	end := (at + int64(len(p)) + Sector - 1) / Sector
	w.data = make([]byte, (end-w.first)*Sector)
	if at%Sector != 0 || len(p)%Sector != 0 { // a sector is written whole, so the rest of it is read
		if _, err := c.readLocked(w.data, w.first*Sector); err != nil && err != io.EOF {
			return 0, err
		}
	}
	copy(w.data[at-w.first*Sector:], p)
	for s := w.first; s < end; s++ {
		c.mu.newest[s] = w.sector(s)
	}
	c.mu.writes = append(c.mu.writes, w)
	c.mu.counts.Writes++
	c.mu.pending += len(w.data)
	for c.mu.pending > maxPending {
		if err := c.destage(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// destage lands the oldest write.
func (c *Cache) destage() error {
	w := c.mu.writes[0]
	if _, err := c.image.WriteAt(w.data, w.first*Sector); err != nil {
		return err
	}
	for s := w.first; s < w.first+w.sectors(); s++ {
		if v := c.mu.newest[s]; &v[0] == &w.sector(s)[0] {
			delete(c.mu.newest, s)
		}
	}
	c.mu.writes = c.mu.writes[1:]
	c.mu.pending -= len(w.data)
	c.mu.counts.Destaged++
	return nil
}

// Flush makes durable what was written before it.
func (c *Cache) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.off {
		return ErrOff
	}
	for _, w := range c.mu.writes {
		if _, err := c.image.WriteAt(w.data, w.first*Sector); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	}
	c.mu.counts.Flushes++
	c.empty()
	return nil
}

func (c *Cache) empty() {
	c.mu.writes, c.mu.pending = nil, 0
	clear(c.mu.newest)
}

// On gives the power back.
func (c *Cache) On() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.off = false
}

// Cut takes the power away until On. It lands what that leaves of the cache, and forgets the rest: the same writes, policy and
// seed leave the same.
func (c *Cache) Cut(p Policy, seed uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.off = true
	c.mu.counts.CutAt = Now()
	rng := rand.New(rand.NewPCG(seed, uint64(p)))
	for _, w := range c.mu.writes {
		c.mu.counts.Versions += int(w.sectors())
	}
	var err error
	switch p {
	case None:
	case Any:
		err = c.landAny(rng)
	case Writes:
		err = c.landWrites(rng)
	case Prefix:
		err = c.landPrefix(rng)
	}
	c.empty()
	return err
}

func (c *Cache) land(s int64, v version) error {
	_, err := c.image.WriteAt(v, s*Sector)
	c.mu.counts.Landed++
	return err
}

// landAny gives each sector one of its versions, that of the image among them.
func (c *Cache) landAny(rng *rand.Rand) error {
	versions := map[int64][]version{}
	for _, w := range c.mu.writes {
		for s := w.first; s < w.first+w.sectors(); s++ {
			versions[s] = append(versions[s], w.sector(s))
		}
	}
	sectors := make([]int64, 0, len(versions))
	for s := range versions {
		sectors = append(sectors, s)
	}
	slices.Sort(sectors)
	for _, s := range sectors {
		if i := rng.IntN(len(versions[s]) + 1); i > 0 {
			if err := c.land(s, versions[s][i-1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cache) landWrites(rng *rand.Rand) error {
	for _, i := range rng.Perm(len(c.mu.writes)) {
		if rng.IntN(2) == 0 {
			continue
		}
		for w, s := c.mu.writes[i], int64(0); s < w.sectors(); s++ {
			if err := c.land(w.first+s, w.sector(w.first+s)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cache) landPrefix(rng *rand.Rand) error {
	if len(c.mu.writes) == 0 {
		return nil
	}
	last := rng.IntN(len(c.mu.writes))
	for i, w := range c.mu.writes[:last+1] {
		for s := w.first; s < w.first+w.sectors(); s++ {
			if i == last && rng.IntN(2) == 0 {
				continue
			}
			if err := c.land(s, w.sector(s)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Counts returns what happened so far.
func (c *Cache) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.counts
}
