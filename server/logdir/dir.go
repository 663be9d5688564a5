package logdir

import (
	"sync/atomic"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/replication/metadata"
)

// A Dir is one log directory. Its methods may be called from anywhere, but for Renew and Close.
type Dir struct {
	id     metadata.ID
	opt    engine.Options
	engine *engine.Engine // nil: absent
	absent error          // why it is
	logs   atomic.Int64
}

// Open opens a directory's engine.
func Open(id metadata.ID, opt engine.Options) (*Dir, error) {
	d := &Dir{id: id, opt: opt}
	return d, d.open()
}

func (d *Dir) open() (err error) {
	d.engine, err = engine.Open(d.opt)
	if err == nil {
		d.logs.Store(int64(len(d.engine.Logs())))
	}
	return err
}

// Absent is a directory that cannot be used, with why. Its id is zero where that could not be read.
func Absent(path string, id metadata.ID, why error) *Dir {
	return &Dir{id: id, opt: engine.Options{Dir: path}, absent: why}
}

// Path returns where the directory is.
func (d *Dir) Path() string { return d.opt.Dir }

// ID returns the directory's id.
func (d *Dir) ID() metadata.ID { return d.id }

// Identify gives the directory another id. It is called before anybody else has the directory.
func (d *Dir) Identify(id metadata.ID) { d.id = id }

// Engine returns the directory's engine, or nil where it is absent.
func (d *Dir) Engine() *engine.Engine { return d.engine }

// Err returns why the directory is offline, or nil.
func (d *Dir) Err() error {
	if d.engine == nil {
		return d.absent
	}
	return d.engine.Err()
}

// Logs returns the logs of the directory, in no order.
func (d *Dir) Logs() []*engine.Log {
	if d.engine == nil {
		return nil
	}
	return d.engine.Logs()
}

// Log returns the directory's log of that name, of whatever topic it is.
func (d *Dir) Log(n engine.Name) (*engine.Log, bool) {
	if d.engine == nil {
		return nil, false
	}
	return d.engine.Log(n)
}

// Create makes an empty log, as engine.Create does.
func (d *Dir) Create(n engine.Name, topic [16]byte, c engine.Config) (*engine.Log, error) {
	l, err := d.engine.Create(n, topic, c)
	if err == nil {
		d.logs.Add(1)
	}
	return l, err
}

// Delete deletes a log, as engine.Delete does.
func (d *Dir) Delete(n engine.Name) error {
	err := d.engine.Delete(n)
	if err == nil {
		d.logs.Add(-1)
	}
	return err
}

// SetAside sets a log aside, as engine.SetAside does.
func (d *Dir) SetAside(n engine.Name) error {
	err := d.engine.SetAside(n)
	if err == nil {
		d.logs.Add(-1)
	}
	return err
}

// Renew closes the engine, lets f change the directory, and opens it again.
func (d *Dir) Renew(f func() error) error {
	err := d.engine.Close()
	d.engine = nil
	if err == nil {
		err = f()
	}
	if err == nil {
		err = d.open()
	}
	if err != nil {
		d.absent = err
	}
	return err
}

// Close closes the engine in order. A directory that is absent has nothing to close.
func (d *Dir) Close() error {
	if d.engine == nil {
		return nil
	}
	return d.engine.Close()
}
