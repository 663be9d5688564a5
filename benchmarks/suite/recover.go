package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/benchmarks/results"
	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

// unmarked are the files without which a start has to look at all of a log.
var unmarked = []string{".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "zurau-recovery-checkpoint"}

// recoverAgain makes a log of so many bytes and opens it until ctx ends, each time as if nothing of it had been checked.
func recoverAgain(ctx context.Context, dir string, bytes int64) (results.Values, error) {
	if err := makeCrashed(dir, bytes); err != nil {
		return nil, err
	}
	var times []float64
	for ctx.Err() == nil || len(times) == 0 {
		for _, name := range unmarked {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		e, err := engine.Open(engine.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		r := e.Recovery()
		if err := e.Close(); err != nil {
			return nil, err
		}
		if r.Clean || r.Scanned < bytes/2 {
			return nil, fmt.Errorf("a recovery of %d bytes looked at %d", bytes, r.Scanned)
		}
		times = append(times, r.Duration.Seconds())
	}
	median := results.SpreadOf(times).Median
	return results.Values{"recovery_s": median, "recovery_MB_s": float64(bytes) / 1e6 / median, "recoveries": float64(len(times))}, nil
}

func makeCrashed(dir string, bytes int64) (err error) {
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	l, err := e.Create(engine.Name{Topic: "crashed"}, [16]byte{2}, engine.Config{})
	if err != nil {
		return err
	}
	b, err := newBatch(16<<10, 1000, record.None)
	if err != nil {
		return err
	}
	return fillLog(context.Background(), l, b, bytes)
}
