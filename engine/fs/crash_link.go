package fs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Link implements Linker: the second name is pending in its directory, as that of a new file is.
func (c *Crash) Link(from, to string) error {
	if err := c.before(OpLink, from); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, n, err := c.find("link", from)
	if err != nil {
		return err
	}
	at, there, err := c.walk(to)
	switch {
	case err != nil:
	case n.dir:
		err = unix.EPERM
	case there != nil:
		err = unix.EEXIST
	}
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	n.data.links++
	c.change(n, place{}, at)
	return nil
}

// Names implements Linker.
func (c *Crash) Names(name string) (int, error) {
	if err := c.before(OpStat, name); err != nil {
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, n, err := c.find("stat", name)
	if err != nil {
		return 0, err
	}
	if n.dir {
		return 1, nil
	}
	return 1 + n.data.links, nil
}

// SetReflinks says whether files of the disk can share blocks. Those of a new disk cannot.
func (c *Crash) SetReflinks(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.reflinks = yes
}

// Reflink implements Linker after SetReflinks. As FICLONE does, it has the pages of the one file written back first, and the other gets
// what the disk has then: not what a flush that failed has lost, which the one still shows.
func (c *Crash) Reflink(from, to string) error {
	err := c.reflink(from, to)
	if err != nil {
		return &os.LinkError{Op: "reflink", Old: from, New: to, Err: err}
	}
	return nil
}

func (c *Crash) reflink(from, to string) error {
	if err := c.before(OpLink, from); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.reflinks {
		return fmt.Errorf("%w: %w", ErrUnsupported, unix.EOPNOTSUPP)
	}
	_, n, err := c.find("reflink", from)
	if err != nil {
		return err
	}
	if n.dir {
		return unix.EISDIR
	}
	if n.data.shared != nil {
		n.data.settleShared()
	}
	made, err := c.openNode(to, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	n.data.flush(n.data.pending)
	content, size := (&powerCut{policy: DropUnflushed, rng: c.mu.rng}).content(n.data)
	u := &update{sizes: size > 0, to: size, end: size}
	for block, p := range content {
		u.images = append(u.images, image{block: block, bytes: p, sectors: 1<<sectors - 1})
	}
	c.mu.used += made.data.execute(u)
	return nil
}
