package fs

import (
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Open implements FS.
func (c *Crash) Open(name string, flag int) (File, error) {
	if err := c.before(OpOpen, name); err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.counts.Opens++
	n, err := c.openNode(name, flag)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	if n.data.shared != nil {
		n.data.settleShared()
	}
	n.data.handles++
	f := &crashFile{disk: c, data: n.data, name: name, flag: flag, since: n.data.lateNo}
	if flag&os.O_TRUNC != 0 {
		c.resize(f, 0)
	}
	return f, nil
}

// openNode finds or creates the file that flag asks for.
func (c *Crash) openNode(name string, flag int) (*node, error) {
	at, n, err := c.walk(name)
	switch {
	case err != nil:
		return nil, err
	case n == nil && flag&os.O_CREATE == 0:
		return nil, unix.ENOENT
	case n != nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, unix.EEXIST
	case n != nil && n.dir:
		return nil, unix.EISDIR
	case n == nil:
		n = &node{data: newInode(name), number: c.number()}
		c.change(n, place{}, at)
	}
	return n, nil
}

// MkdirAll implements FS: each directory that it makes is pending in its parent.
func (c *Crash) MkdirAll(dir string) error {
	if err := c.before(OpMkdir, dir); err != nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clean := filepath.Clean(dir)
	for end := 1; end <= len(clean); end++ {
		if end < len(clean) && clean[end] != '/' {
			continue
		}
		at, n, err := c.walk(clean[:end])
		if err == nil && n != nil && !n.dir {
			err = unix.ENOTDIR
		}
		if err != nil {
			return &os.PathError{Op: "mkdir", Path: dir, Err: err}
		}
		if n == nil {
			made := newDir()
			made.number = c.number()
			c.change(made, place{}, at)
		}
	}
	return nil
}

// ReadDir implements FS.
func (c *Crash) ReadDir(dir string) ([]os.DirEntry, error) {
	if err := c.before(OpReadDir, dir); err != nil {
		return nil, &os.PathError{Op: "readdir", Path: dir, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, n, err := c.find("open", dir)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, &os.PathError{Op: "readdir", Path: dir, Err: unix.ENOTDIR}
	}
	var list []os.DirEntry
	for name, child := range n.live {
		list = append(list, iofs.FileInfoToDirEntry(describe(name, child)))
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat implements FS. The time of modification is always the epoch: nothing here may depend on a clock.
func (c *Crash) Stat(name string) (os.FileInfo, error) {
	if err := c.before(OpStat, name); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, n, err := c.find("stat", name)
	if err != nil {
		return nil, err
	}
	return describe(filepath.Base(name), n), nil
}

// Rename implements FS.
func (c *Crash) Rename(from, to string) error {
	if err := c.before(OpRename, from); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.counts.Renames++
	if err := c.rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (c *Crash) rename(from, to string) error {
	src, n, err := c.walk(from)
	if err != nil {
		return err
	}
	dst, old, err := c.walk(to)
	switch {
	case err != nil:
		return err
	case n == nil:
		return unix.ENOENT
	case src.dir == nil || dst.dir == nil:
		return unix.EBUSY // a root
	case old == n:
		return nil
	case old != nil && old.dir && !n.dir:
		return unix.EISDIR
	case old != nil && !old.dir && n.dir:
		return unix.ENOTDIR
	case old != nil && len(old.live) > 0:
		return unix.ENOTEMPTY
	}
	if n.dir && strings.HasPrefix(filepath.Clean(to)+"/", filepath.Clean(from)+"/") {
		return unix.EINVAL // into itself
	}
	c.change(n, src, dst)
	if old != nil {
		c.unlink(old)
	}
	return nil
}

// Remove implements FS.
func (c *Crash) Remove(name string) error {
	if err := c.before(OpRemove, name); err != nil {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.counts.Removes++
	at, n, err := c.find("remove", name)
	if err != nil {
		return err
	}
	if at.dir == nil || len(n.live) > 0 {
		return &os.PathError{Op: "remove", Path: name, Err: unix.ENOTEMPTY}
	}
	c.change(n, at, place{})
	c.unlink(n)
	return nil
}

// SyncDir implements FS. A rename between directories is on disk when either is synced: no journal splits it.
func (c *Crash) SyncDir(dir string) error {
	if err := c.before(OpSyncDir, dir); err != nil {
		return &os.PathError{Op: "fsync", Path: dir, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.counts.SyncDirs++
	_, n, err := c.find("open", dir)
	if err != nil {
		return err
	}
	if !n.dir {
		return &os.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
	}
	if !c.mu.faults.IgnoreSyncDir {
		c.settle(func(ch *nameChange) bool { return ch.from.dir == n || ch.to.dir == n })
	}
	return nil
}

// Lock implements FS. A Clone has no locks: their process is dead.
func (c *Crash) Lock(name string) (io.Closer, error) {
	if err := c.before(OpLock, name); err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.openNode(name, os.O_CREATE); err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	name = filepath.Clean(name)
	if c.mu.locks[name] {
		return nil, &os.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	c.mu.locks[name] = true
	return &crashLock{c, name}, nil
}

// crashLock is a lock that is held.
type crashLock struct {
	disk *Crash
	name string
}

func (l *crashLock) Close() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	if !l.disk.mu.locks[l.name] {
		return &os.PathError{Op: "close", Path: l.name, Err: os.ErrClosed}
	}
	delete(l.disk.mu.locks, l.name)
	return nil
}

// Free implements FS.
func (c *Crash) Free(dir string) (int64, error) {
	if err := c.before(OpStat, dir); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, err := c.find("statfs", dir); err != nil {
		return 0, err
	}
	return max(0, c.mu.space-c.mu.used) * BlockSize, nil
}

// fileInfo is os.FileInfo of a node at one moment.
type fileInfo struct {
	name    string
	size    int64
	mode    os.FileMode
	file    uint64
	changed int64
}

func describe(name string, n *node) fileInfo {
	if n.dir {
		return fileInfo{name, 0, os.ModeDir | 0o755, n.number, n.changed}
	}
	return fileInfo{name, n.data.size, 0o644, n.number, n.changed + n.data.changed}
}

// number returns an inode number that no file has or had.
func (c *Crash) number() uint64 {
	c.mu.numbers++
	return c.mu.numbers
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() os.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Unix(0, 0) }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
