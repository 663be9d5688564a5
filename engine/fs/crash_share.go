package fs

import (
	"maps"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// crashShared is a mapping of a file of a Crash. Its content is apart from the inode's until a Clone: nothing but the
// process that has the mapping may look at the file.
type crashShared struct {
	disk *Crash
	data *inode
	name string
	mu   sync.Mutex
	raw  []byte
	all  []byte
	size int64
	used []bool // blocks that Update was told of since they were zeros
	seen pages  // of earlier cuts, which share what has not changed since
}

// maxCrashShare keeps the memory of many disks small: what goes beyond it finds no room.
const maxCrashShare = 4 << 20

// Share implements FS.
func (c *Crash) Share(name string, limit int64) (Shared, error) {
	if err := c.before(OpOpen, name); err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.faults.NoShare {
		return nil, &os.PathError{Op: "mmap", Path: name, Err: ErrUnsupported}
	}
	n, err := c.openNode(name, os.O_CREATE)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	limit = min(limit, maxCrashShare)
	raw := make([]byte, limit+BlockSize)
	skip := -uintptr(unsafe.Pointer(&raw[0])) % BlockSize
	s := &crashShared{disk: c, data: n.data, name: name, raw: raw, all: raw[skip:][:limit], used: make([]bool, limit/BlockSize+1), seen: pages{}}
	n.data.shared = s
	return s, nil
}

// Boot implements FS. A process that was killed comes back to the same one, a power cut makes another.
func (c *Crash) Boot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.boot
}

// SetBoot changes what Boot says: a disk that lost its cache under a kernel that went on is a cut with the old name.
func (c *Crash) SetBoot(boot string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.boot = boot
}

func (s *crashShared) Grow(size int64) error {
	if err := s.disk.before(OpWrite, s.name); err != nil {
		return &os.PathError{Op: "fallocate", Path: s.name, Err: err}
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if need := (size - s.size) / BlockSize; need > 0 {
		if size > int64(len(s.all)) || s.disk.mu.used+need > s.disk.mu.space {
			return &os.PathError{Op: "fallocate", Path: s.name, Err: unix.ENOSPC}
		}
		s.disk.mu.used += need
		s.size = size
	}
	return nil
}

// Keep does nothing: memory is all there is.
func (s *crashShared) Keep(int64, int64) bool { return false }

func (s *crashShared) Bytes() []byte { return s.all }

func (s *crashShared) Update(at, n int64, f func([]byte)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at+n > s.size {
		return &os.PathError{Op: "write to the mapping of", Path: s.name, Err: unix.EFAULT}
	}
	for block := at / BlockSize; block*BlockSize < at+n; block++ {
		s.used[block] = true
	}
	f(s.all[at : at+n])
	return nil
}

func (s *crashShared) Drop() error {
	if err := s.disk.before(OpTruncate, s.name); err != nil {
		return &os.PathError{Op: "truncate", Path: s.name, Err: err}
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk.mu.used -= s.size / BlockSize
	for i, used := range s.used {
		if used {
			clear(s.all[i*BlockSize:][:BlockSize])
		}
	}
	clear(s.used)
	s.size = 0
	return nil
}

// Sync changes nothing that a cut would show: what lies in the mapping is never counted on after one.
func (s *crashShared) Sync() error {
	if err := s.disk.before(OpDatasync, s.name); err != nil {
		return &os.PathError{Op: "fdatasync", Path: s.name, Err: err}
	}
	return nil
}

// Close leaves what is mapped in the file, and lets the memory go.
func (s *crashShared) Close() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.data.shared == s {
		s.data.settleShared()
		s.data.shared = nil
	}
	return nil
}

// content returns what a cut leaves of the mapping: all of it after a kill, and any of its pages after a power cut.
func (s *crashShared) content(k *powerCut) (pages, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := pages{}
	var zero page
	keep := 0.0
	if k.policy == Random {
		keep = k.odds()
	}
	for at := int64(0); at < s.size; at += BlockSize {
		if !s.used[at/BlockSize] {
			continue
		}
		lands := k.policy == KeepAll || k.policy == Random && k.rng.Float64() < keep
		if !lands {
			continue
		}
		block := at / BlockSize
		if last := s.seen[block]; last != nil && *last == page(s.all[at:][:BlockSize]) {
			live[block] = last
		} else if p := page(s.all[at:][:BlockSize]); p != zero {
			live[block], s.seen[block] = &p, &p
		}
	}
	return live, s.size
}

// settleShared makes the file's content what its mapping has, for a process that opens it after the one that had it mapped.
func (d *inode) settleShared() {
	d.live, d.size = d.shared.content(&powerCut{policy: KeepAll})
	d.base, d.baseSize, d.pending = maps.Clone(d.live), d.size, nil
}
