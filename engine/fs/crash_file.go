package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"golang.org/x/sys/unix"
)

// crashFile is an open file of a Crash. All fields but closed are constant; the disk's lock guards the rest.
type crashFile struct {
	disk   *Crash
	data   *inode
	name   string
	flag   int
	closed bool
	since  int // the failed write-backs before it was opened, or that it has told of
}

func (f *crashFile) Name() string { return f.name }

// Fd is -1: there is nothing to send from.
func (f *crashFile) Fd() int { return -1 }

func (f *crashFile) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: f.name, Err: err}
}

// usable is what the kernel checks first. The disk's lock is held.
func (f *crashFile) usable(write bool) error {
	access := f.flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)
	switch {
	case f.closed:
		return os.ErrClosed
	case write && access == os.O_RDONLY, !write && access == os.O_WRONLY:
		return unix.EBADF
	}
	return nil
}

// aligned is O_DIRECT's demand. It is stricter than some devices are, as the interface is.
func (f *crashFile) aligned(p []byte, at int64) error {
	if at < 0 {
		return unix.EINVAL
	}
	if f.flag&Direct == 0 || len(p) == 0 {
		return nil
	}
	if at%BlockSize != 0 || len(p)%BlockSize != 0 || reflect.ValueOf(p).Pointer()%BlockSize != 0 {
		return unix.EINVAL
	}
	return nil
}

func (f *crashFile) ReadAt(p []byte, at int64) (int, error) {
	c := f.disk
	fault := c.before(OpRead, f.name)
	if fault != nil && !errors.Is(fault, ErrShort) {
		return 0, f.fail("read", fault)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := f.usable(false); err != nil {
		return 0, f.fail("read", err)
	}
	if err := f.aligned(p, at); err != nil {
		return 0, f.fail("read", err)
	}
	c.mu.counts.Reads++
	n := f.data.read(p, at)
	if fault != nil {
		n = c.shorten(n)
	}
	c.mu.counts.ReadBytes += int64(n)
	c.mu.read[f.name] += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// read copies what the process sees.
func (d *inode) read(p []byte, at int64) int {
	if at >= d.size {
		return 0
	}
	p = p[:min(int64(len(p)), d.size-at)]
	for n := 0; n < len(p); {
		pos := at + int64(n)
		part := p[n:min(len(p), n+int(BlockSize-pos%BlockSize))]
		if b := d.live[pos/BlockSize]; b != nil {
			copy(part, b[pos%BlockSize:])
		} else {
			clear(part)
		}
		n += len(part)
	}
	return len(p)
}

func (f *crashFile) Write(p []byte, at int64, durable bool) error {
	c := f.disk
	op := OpWrite
	if durable {
		op = OpWriteDurable
	}
	fault := c.before(op, f.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if fl := f.data.overlap(at, len(p)); fl != nil {
		c.violate("write of %d bytes at %d of %s while %s is in flight", len(p), at, f.name, fl)
	}
	return f.fail("write", c.write(f, p, at, durable, fault))
}

// write executes a write, or what a fault leaves of it. c.mu is held.
func (c *Crash) write(f *crashFile, p []byte, at int64, durable bool, fault error) error {
	if err := f.usable(true); err != nil {
		return err
	}
	if err := f.aligned(p, at); err != nil {
		return err
	}
	c.mu.counts.Writes++
	if durable {
		c.mu.counts.DurableWrites++
	}
	p, fault, late := c.partOf(f, p, durable, fault)
	durable = durable && fault == nil
	u := compose(f.data.live, f.data.size, p, at)
	if c.mu.used+f.data.missing(u) > c.mu.space {
		if fault != nil {
			return fault
		}
		return unix.ENOSPC
	}
	u.owner, u.lost = f, fault != nil || late
	c.mu.counts.WrittenBytes += int64(len(p))
	c.mu.used += f.data.execute(u)
	if durable && !c.mu.faults.IgnoreDurable {
		f.data.flushOne(u, at+int64(len(p)))
	}
	return fault
}

// missing counts the blocks that the update would add.
func (d *inode) missing(u *update) (n int64) {
	for _, im := range u.images {
		if d.live[im.block] == nil {
			n++
		}
	}
	return n
}

func (f *crashFile) Datasync() error {
	c := f.disk
	fault := c.before(OpDatasync, f.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.closed {
		return f.fail("fdatasync", os.ErrClosed)
	}
	return f.fail("fdatasync", c.datasync(f, f.data.pending, fault))
}

// datasync flushes the updates, or loses all that is pending. c.mu is held.
func (c *Crash) datasync(f *crashFile, updates []*update, fault error) error {
	c.mu.counts.Datasyncs++
	if told := f.told(); fault == nil {
		fault = told
	}
	switch {
	case fault != nil:
		f.data.lose()
	case !c.mu.faults.IgnoreDatasync:
		f.data.flush(updates)
	}
	return fault
}

func (f *crashFile) Truncate(size int64) error {
	c := f.disk
	if err := c.before(OpTruncate, f.name); err != nil {
		return f.fail("truncate", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := f.usable(true); err != nil {
		return f.fail("truncate", err)
	}
	if size < 0 {
		return f.fail("truncate", unix.EINVAL)
	}
	if len(f.data.flights) > 0 {
		c.violate("truncate of %s to %d while %s is in flight", f.name, size, f.data.flights[0])
	}
	c.mu.counts.Truncates++
	c.resize(f, size)
	return nil
}

// resize executes a truncate. One to the size that the file has changes nothing.
func (c *Crash) resize(f *crashFile, size int64) {
	d := f.data
	if size == d.size {
		return
	}
	c.mu.used += d.execute(&update{owner: f, content: true, sizes: true, from: d.size, to: size})
}

func (f *crashFile) Size() (int64, error) {
	c := f.disk
	if err := c.before(OpStat, f.name); err != nil {
		return 0, f.fail("stat", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.closed {
		return 0, f.fail("stat", os.ErrClosed)
	}
	return f.data.size, nil
}

func (f *crashFile) Advise(bool) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return f.fail("fadvise", os.ErrClosed)
	}
	return nil
}

// Map returns a copy: what the file gets later is not in it.
func (f *crashFile) Map(size int) (Mapping, error) {
	c := f.disk
	if err := c.before(OpMap, f.name); err != nil {
		return nil, f.fail("mmap", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.faults.NoMap {
		return nil, ErrUnsupported
	}
	if err := f.usable(false); err != nil {
		return nil, f.fail("mmap", err)
	}
	if int64(size) > f.data.size {
		return nil, f.fail("mmap", io.ErrUnexpectedEOF)
	}
	b := make([]byte, size)
	f.data.read(b, 0)
	return crashMapping(b), nil
}

type crashMapping []byte

func (m crashMapping) Bytes() []byte { return m }
func (m crashMapping) Load()         {}
func (m crashMapping) Close() error  { return nil }

// Close closes the descriptor even where a hook fails it, as close(2) does.
func (f *crashFile) Close() error {
	c := f.disk
	fault := c.before(OpClose, f.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.closed {
		return f.fail("close", os.ErrClosed)
	}
	f.closed = true
	for _, fl := range f.data.flights {
		if fl.f == f && !fl.orphan {
			c.violate("close of %s while %s is in flight", f.name, fl)
		}
	}
	for _, u := range f.data.pending {
		if u.owner == f && !u.flushed() && !f.data.unlinked {
			c.mu.closed = append(c.mu.closed, f.name)
			break
		}
	}
	f.data.handles--
	c.release(f.data)
	return f.fail("close", fault)
}

// violate records a broken rule. c.mu is held.
func (c *Crash) violate(format string, args ...any) {
	c.mu.broken = append(c.mu.broken, fmt.Errorf(format, args...))
}
