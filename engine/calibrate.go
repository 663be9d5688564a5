package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

// calibrationName is the file that calibration writes to, and removes.
const calibrationName = "zurau-calibration.tmp"

// calibrationWrites is how many durable writes of each kind are timed: enough that one slow one does not decide, and
// on the slowest disks (10 ms each) less than half a second in all.
const calibrationWrites = 16

// calibrateSoon chooses how buffered writes become durable. Devices differ by a factor of 30 one way and 4 the other, so it
// is measured, in the background; until it is known, fdatasync is what works everywhere.
func (e *Engine) calibrateSoon() {
	if e.opt.SyncMethod != SyncAuto {
		e.syncBy.Store(int32(e.opt.SyncMethod))
		return
	}
	e.syncBy.Store(int32(SyncFdatasync))
	e.tasks.done.Add(1)
	go func() {
		defer e.tasks.done.Done()
		took, err := e.calibrate()
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil {
			e.log.Warn("calibration failed, durable writes use fdatasync", "dir", e.opt.Dir, "error", err)
			return
		}
		best := SyncDsync // one call, and what shares best among writes in flight, unless the other is clearly faster
		if took[SyncFdatasync] < took[SyncDsync]*4/5 {
			best = SyncFdatasync
		}
		e.syncBy.Store(int32(best))
		e.log.Info("calibrated durable writes", "dir", e.opt.Dir, "method", best,
			"fdatasync", took[SyncFdatasync], "dsync", took[SyncDsync])
	}()
}

// calibrate returns the median time of one durable write of 4 KiB, into blocks that were written before, by each method:
// past the page cache where the file system can, as sync logs are written.
func (e *Engine) calibrate() (took map[SyncMethod]time.Duration, err error) {
	name := filepath.Join(e.opt.Dir, calibrationName)
	f, err := e.openDirect(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		e.removeIfThere(name)
	}()
	mem := e.buffers.get(2 * calibrationWrites * fs.BlockSize)
	defer e.buffers.put(mem)
	all := mem.bytes[:2*calibrationWrites*fs.BlockSize]
	clear(all)
	if err := f.Write(all, 0, true); err != nil {
		return nil, err
	}
	samples := map[SyncMethod][]time.Duration{}
	for i := range 2 * calibrationWrites {
		select {
		case <-e.tasks.quit:
			return nil, ErrClosed
		default:
		}
		m := [2]SyncMethod{SyncFdatasync, SyncDsync}[i%2]
		began := time.Now()
		if err := durableWrite(f, all[:fs.BlockSize], int64(i)*fs.BlockSize, m); err != nil {
			return nil, fmt.Errorf("calibrate: %w", err)
		}
		samples[m] = append(samples[m], time.Since(began))
	}
	took = map[SyncMethod]time.Duration{}
	for m, s := range samples {
		slices.Sort(s)
		took[m] = s[len(s)/2]
	}
	return took, nil
}

// openDirect opens a new file for direct writes, or for buffered ones where there are no others.
func (e *Engine) openDirect(name string) (fs.File, error) {
	f, err := e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|fs.Direct)
	if errors.Is(err, fs.ErrUnsupported) {
		f, err = e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	}
	return f, err
}

func durableWrite(f fs.File, p []byte, at int64, m SyncMethod) error {
	if err := f.Write(p, at, m == SyncDsync); err != nil || m == SyncDsync {
		return err
	}
	return f.Datasync()
}
