package suite

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/load"
	"github.com/zurau/zurau/uring"
)

// layBytes is how much is written at a time to a file that is to be there before.
const layBytes = 1 << 20

// blocks hands out the places of a clone's requests: block by block, the files in turn, from the start again at the end.
type blocks struct {
	job   *job.Job
	files []*os.File
	each  int64 // blocks of a file
	left  *load.Budget

	mu   sync.Mutex
	next int64
	owed int // percent of a read, of a mixed job
}

// A place is where a request reads or writes.
type place struct {
	file  *os.File
	at    int64
	reads bool
}

// take returns the next place, or load.ErrDone.
func (b *blocks) take() (place, error) {
	if err := b.left.Take(b.job.BlockSize); err != nil {
		return place{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.next
	b.next++
	files := int64(len(b.files))
	p := place{file: b.files[n%files], at: n / files % b.each * b.job.BlockSize, reads: b.job.Pattern == job.Read}
	if b.job.Pattern == job.Mixed {
		if b.owed += b.job.ReadPercent; b.owed >= 100 {
			b.owed, p.reads = b.owed-100, true
		}
	}
	return p, nil
}

// gap is the time between two requests of one of n streams; 0 where they come as fast as it goes.
func gap(j *job.Job, n float64) time.Duration {
	if rate := j.PerSecond(j.BlockSize); rate > 0 {
		return time.Duration(float64(time.Second) * n / rate)
	}
	return 0
}

// openBlocks opens a file as a job says.
func openBlocks(name string, j *job.Job) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if j.Direct {
		flags |= unix.O_DIRECT
	}
	switch j.Sync {
	case job.Dsync:
		flags |= unix.O_DSYNC
	case job.FullSync:
		flags |= unix.O_SYNC
	}
	return os.OpenFile(name, flags, 0o644)
}

// lay fills a file, durably, where it is shorter than bytes.
func lay(ctx context.Context, name string, bytes int64) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() >= bytes {
		return err
	}
	zeros := make([]byte, layBytes)
	for at := int64(0); at < bytes; at += layBytes {
		if _, err := f.WriteAt(zeros[:min(layBytes, bytes-at)], at); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return f.Sync()
}

// warmFile reads a file once.
func warmFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// A plain stream makes its requests by pread and pwrite.
type plain struct {
	blocks *blocks
	memory *uring.Buffer // aligned, for O_DIRECT
	writes int
}

func newPlain(j *job.Job, b *blocks) (*plain, error) {
	memory, err := uring.Alloc(int(j.BlockSize))
	return &plain{blocks: b, memory: memory}, err
}

func (p *plain) do(<-chan struct{}, time.Time) (int64, error) {
	at, err := p.blocks.take()
	if err != nil {
		return 0, err
	}
	b := p.memory.Bytes()
	if at.reads {
		n, err := at.file.ReadAt(b, at.at)
		if errors.Is(err, io.EOF) && n > 0 {
			err = nil
		}
		return int64(n), err
	}
	if _, err := at.file.WriteAt(b, at.at); err != nil {
		return 0, err
	}
	p.writes++
	j := p.blocks.job
	switch {
	case j.SyncEvery == 0 || p.writes%j.SyncEvery != 0:
	case j.Sync == job.Fdatasync:
		err = unix.Fdatasync(int(at.file.Fd()))
	case j.Sync == job.Fsync:
		err = at.file.Sync()
	}
	return int64(len(b)), err
}

func (p *plain) end() error {
	p.memory.Free()
	return nil
}
