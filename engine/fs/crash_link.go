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

// Reflink implements Linker: this disk shares no blocks.
func (c *Crash) Reflink(from, to string) error {
	return &os.LinkError{Op: "reflink", Old: from, New: to, Err: fmt.Errorf("%w: %w", ErrUnsupported, unix.EOPNOTSUPP)}
}
