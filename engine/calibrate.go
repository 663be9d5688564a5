package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
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
		if err != nil {
			e.log.Warn("calibration failed, durable writes use fdatasync", "dir", e.opt.Dir, "error", err)
			return
		}
		best := SyncFdatasync
		if took[SyncDsync] < took[SyncFdatasync] {
			best = SyncDsync
		}
		e.syncBy.Store(int32(best))
		e.log.Info("calibrated durable writes", "dir", e.opt.Dir, "method", best,
			"fdatasync", took[SyncFdatasync], "dsync", took[SyncDsync])
	}()
}

// calibrate returns the mean time of one durable 4 KiB append by each method.
func (e *Engine) calibrate() (took map[SyncMethod]time.Duration, err error) {
	name := filepath.Join(e.opt.Dir, calibrationName)
	f, err := e.fs.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		e.removeIfThere(name)
	}()
	took = map[SyncMethod]time.Duration{}
	block := make([]byte, 4096)
	at := int64(0)
	for i := range 2 * calibrationWrites {
		select {
		case <-e.tasks.quit:
			return nil, ErrClosed
		default:
		}
		m := SyncFdatasync
		if i%2 == 1 {
			m = SyncDsync
		}
		began := time.Now()
		if err := f.Write(block, at, m == SyncDsync); err != nil {
			return nil, err
		}
		if m == SyncFdatasync {
			if err := f.Datasync(); err != nil {
				return nil, fmt.Errorf("calibrate: %w", err)
			}
		}
		took[m] += time.Since(began)
		at += int64(len(block))
	}
	for m := range took {
		took[m] /= calibrationWrites
	}
	return took, nil
}
