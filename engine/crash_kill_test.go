package engine

import (
	"io"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A mortal is a file system for one process that dies by kill -9 in front of a call: whoever makes that call, or one
// after it, never returns. To the disk nothing has happened but the end of the process: what was written is pending on it.
type mortal struct {
	fs.FS
	mu     sync.Mutex
	quiet  *sync.Cond
	at     int // the call that is not made
	calls  int
	inside int
	dead   bool
	died   chan struct{}
	locks  []io.Closer
	queues []fs.Queue
}

func newMortal(disk fs.FS, at int) *mortal {
	m := &mortal{FS: disk, at: at, died: make(chan struct{})}
	m.quiet = sync.NewCond(&m.mu)
	return m
}

// call makes a call unless the process is dead, or dies in front of it.
func (m *mortal) call(f func()) {
	m.mu.Lock()
	if m.calls++; m.calls == m.at && !m.dead {
		m.dead = true
		close(m.died)
	}
	if m.dead {
		m.mu.Unlock()
		runtime.Goexit()
	}
	m.inside++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.inside--
		m.quiet.Broadcast()
		dead := m.dead
		m.mu.Unlock()
		if dead {
			runtime.Goexit()
		}
	}()
	f()
}

// bury does what the kernel does for a process that is gone: what was in flight ends, and locks are free.
func (m *mortal) bury() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, q := range m.queues {
		q.Wake()
	}
	for m.inside > 0 {
		m.quiet.Wait()
	}
	for _, q := range m.queues {
		q.Close()
	}
	for _, l := range m.locks {
		l.Close()
	}
}

func (m *mortal) Open(name string, flag int) (f fs.File, err error) {
	m.call(func() { f, err = m.FS.Open(name, flag) })
	if err != nil {
		return nil, err
	}
	return mortalFile{f, m}, nil
}

// Share maps a file for a process whose stores end with it.
func (m *mortal) Share(name string, limit int64) (s fs.Shared, err error) {
	m.call(func() { s, err = m.FS.Share(name, limit) })
	if err != nil {
		return nil, err
	}
	return mortalShared{s, m}, nil
}

type mortalShared struct {
	fs.Shared
	m *mortal
}

func (s mortalShared) Grow(size int64) (err error) {
	s.m.call(func() { err = s.Shared.Grow(size) })
	return err
}

func (s mortalShared) Update(at, n int64, f func([]byte)) (err error) {
	s.m.call(func() { err = s.Shared.Update(at, n, f) })
	return err
}

func (s mortalShared) Drop() (err error) {
	s.m.call(func() { err = s.Shared.Drop() })
	return err
}

func (s mortalShared) Close() (err error) {
	s.m.call(func() { err = s.Shared.Close() })
	return err
}

func (m *mortal) MkdirAll(dir string) (err error) {
	m.call(func() { err = m.FS.MkdirAll(dir) })
	return err
}

func (m *mortal) Stat(name string) (i os.FileInfo, err error) {
	m.call(func() { i, err = m.FS.Stat(name) })
	return i, err
}

func (m *mortal) Rename(from, to string) (err error) {
	m.call(func() { err = m.FS.Rename(from, to) })
	return err
}

func (m *mortal) Remove(name string) (err error) {
	m.call(func() { err = m.FS.Remove(name) })
	return err
}

func (m *mortal) SyncDir(dir string) (err error) {
	m.call(func() { err = m.FS.SyncDir(dir) })
	return err
}

func (m *mortal) Lock(name string) (l io.Closer, err error) {
	m.call(func() {
		if l, err = m.FS.Lock(name); err == nil {
			m.locks = append(m.locks, l)
		}
	})
	return l, err
}

func (m *mortal) NewQueue(depth int) (q fs.Queue, err error) {
	m.call(func() {
		if q, err = m.FS.NewQueue(depth); err == nil {
			m.queues = append(m.queues, q)
		}
	})
	return mortalQueue{q, m}, err
}

type mortalFile struct {
	fs.File
	m *mortal
}

func (f mortalFile) ReadAt(p []byte, at int64) (n int, err error) {
	f.m.call(func() { n, err = f.File.ReadAt(p, at) })
	return n, err
}

func (f mortalFile) Write(p []byte, at int64, durable bool) (err error) {
	f.m.call(func() { err = f.File.Write(p, at, durable) })
	return err
}

func (f mortalFile) Datasync() (err error) {
	f.m.call(func() { err = f.File.Datasync() })
	return err
}

func (f mortalFile) Truncate(size int64) (err error) {
	f.m.call(func() { err = f.File.Truncate(size) })
	return err
}

func (f mortalFile) Close() (err error) {
	f.m.call(func() { err = f.File.Close() })
	return err
}

type mortalQueue struct {
	fs.Queue
	m *mortal
}

func (q mortalQueue) Push(f fs.File, p []byte, at int64, durable bool, tag uint64) (ok bool) {
	q.m.call(func() { ok = q.Queue.Push(f.(mortalFile).File, p, at, durable, tag) })
	return ok
}

func (q mortalQueue) PushSync(f fs.File, tag uint64) (ok bool) {
	q.m.call(func() { ok = q.Queue.PushSync(f.(mortalFile).File, tag) })
	return ok
}

func (q mortalQueue) Wait(dst []fs.Completion) (ended []fs.Completion, err error) {
	q.m.call(func() { ended, err = q.Queue.Wait(dst) })
	return ended, err
}

func (q mortalQueue) Close() (err error) {
	q.m.call(func() {
		err = q.Queue.Close()
		q.m.queues = nil
	})
	return err
}

// After kill -9 the kernel has what the process wrote, and the disk does not have all of it. What the next process
// serves must be on the disk: a power cut would take from a reader what he has seen.
func TestAKilledProcessLeavesWhatAPowerCutThenKeeps(t *testing.T) {
	for i, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(600 + i)
			n := 1 + i
			for ; ; n += int(stride(37)) {
				disk, a := crashDisk(seed), &account{}
				m := newMortal(disk, n)
				done := make(chan error, 1)
				go func() {
					e, err := Open(crashOptions(m, h))
					if err == nil {
						err = script(e, h, a, seed, planted{})
					}
					if err == nil {
						err = e.Close()
					}
					done <- err
				}()
				select {
				case err := <-done:
					must(t, err)
					t.Logf("seed %d: %d calls", seed, n)
					return // the script has fewer calls
				case <-m.died:
				}
				m.bury()
				next := cut{disk: disk, before: a.now(), after: a.now(), killed: true}
				if err := next.verify(a, h); err != nil {
					t.Fatalf("seed %d, killed before call %d: %v", seed, n, err)
				}
			}
		})
	}
}
