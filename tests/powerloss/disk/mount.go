package disk

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// File is the name of the disk in the folder that it is mounted on.
const File = "disk"

// maxWrite is the largest write that the kernel hands over at once.
const maxWrite = 1 << 20

// An Op is what may be asked of a disk.
type Op int

const (
	Read Op = iota
	Write
	Flush
	ops
)

func (o Op) String() string { return [...]string{"read", "write", "flush"}[o] }

// A device is a Cache that can be slow, bad or without power.
type device struct {
	cache *Cache
	size  int64

	mu struct {
		sync.Mutex
		change  *sync.Cond
		fails   [ops]syscall.Errno
		stalled bool
		waiting int // for the end of a stall
		trap    *Trap
	}
}

// A Trap takes the power away in the midst of what a disk is asked to do: at a write, which is in the cache, or before a flush has begun.
type Trap struct {
	Op     Op
	N      int // which of them from now on
	Policy Policy
	Seed   uint64
	Stall  bool // let everything wait, instead: somebody else takes the power away

	sprung chan struct{}
}

func newDevice(image *os.File) (*device, error) {
	info, err := image.Stat()
	if err != nil {
		return nil, err
	}
	d := &device{cache: NewCache(image), size: info.Size()}
	d.mu.change = sync.NewCond(&d.mu.Mutex)
	return d, nil
}

// admit waits while the disk is stalled, and says whether it does what it is asked.
func (d *device) admit(op Op) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.mu.waiting++; d.mu.stalled; {
		d.mu.change.Wait()
	}
	d.mu.waiting--
	return d.mu.fails[op]
}

// set arms a trap, and returns what is closed when it has sprung.
func (d *device) set(t Trap) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.sprung = make(chan struct{})
	d.mu.trap = &t
	return t.sprung
}

// spring counts an operation down to the trap's, and has it spring.
func (d *device) spring(op Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.mu.trap
	if t == nil || t.Op != op {
		return
	}
	if t.N--; t.N > 0 {
		return
	}
	d.mu.trap = nil
	if d.mu.stalled = t.Stall; !t.Stall {
		_ = d.cache.Cut(t.Policy, t.Seed) // the image is memory
	}
	close(t.sprung)
}

// stall makes everything wait until unstall, or for that long where it is not zero.
func (d *device) stall(long time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.stalled = true
	if long > 0 {
		time.AfterFunc(long, d.unstall)
	}
}

func (d *device) unstall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.stalled = false
	d.mu.change.Broadcast()
}

func (d *device) fail(op Op, with syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.fails[op] = with
}

func (d *device) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.mu.stalled {
		return 0
	}
	return d.mu.waiting
}

// A node is the device as the one file of a file system.
type node struct {
	fs.Inode
	d *device
}

var (
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
)

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = syscall.S_IFREG | 0o600
	out.Size = uint64(n.d.size)
	return 0
}

// Setattr changes nothing: a disk has one size, and no time.
func (n *node) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.Getattr(ctx, h, out)
}

// Open keeps the page cache out: everything is to arrive here.
func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, p []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	if errno := n.d.admit(Read); errno != 0 {
		return nil, errno
	}
	got, err := n.d.cache.ReadAt(p, at)
	if err != nil && err != io.EOF { // short at the end
		return nil, syscall.EIO
	}
	return fuse.ReadResultData(p[:got]), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, p []byte, at int64) (uint32, syscall.Errno) {
	if errno := n.d.admit(Write); errno != 0 {
		return 0, errno
	}
	if at+int64(len(p)) > n.d.size {
		return 0, syscall.ENOSPC
	}
	if _, err := n.d.cache.WriteAt(p, at); err != nil {
		return 0, syscall.EIO
	}
	n.d.spring(Write)
	return uint32(len(p)), n.d.admit(Write)
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.d.spring(Flush)
	if errno := n.d.admit(Flush); errno != 0 {
		return errno
	}
	if n.d.cache.Flush() != nil {
		return syscall.EIO
	}
	return 0
}

// A folder holds the node.
type folder struct {
	fs.Inode
	d *device
}

func (f *folder) OnAdd(ctx context.Context) {
	f.AddChild(File, f.NewPersistentInode(ctx, &node{d: f.d}, fs.StableAttr{Mode: syscall.S_IFREG}), true)
}

// mount shows the device as the file of a folder. It needs no fusermount.
func (d *device) mount(dir string) (*fuse.Server, error) {
	o := fuse.MountOptions{DirectMountStrict: true, FsName: "zurau-disk", Name: "zurau-disk", MaxWrite: maxWrite, DisableSplice: true}
	return fs.Mount(dir, &folder{d: d}, &fs.Options{MountOptions: o})
}
