package engine

import (
	"errors"
	"fmt"
	"time"
)

// check refuses options that mean nothing, each by its name: a negative size must not become a default, or a panic, later.
func (o *Options) check() error {
	var errs []error
	bad := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s is %v: want %s", "Options."+name, value, want))
	}
	if o.Dir == "" {
		errs = append(errs, fmt.Errorf("%s is empty: want the log directory", "Options.Dir"))
	}
	for name, n := range map[string]int64{
		"Writers": int64(o.Writers), "SyncWriters": int64(o.SyncWriters), "Descriptors": int64(o.Descriptors),
		"RecoveryWorkers": int64(o.RecoveryWorkers), "SpaceSharers": int64(o.SpaceSharers),
		"MemoryBytes": o.MemoryBytes, "ReserveBytes": o.ReserveBytes, "CheckpointBytes": o.CheckpointBytes,
	} {
		if n < 0 {
			bad(name, n, "0 for the default, or more")
		}
	}
	if o.ProducerIDExpiration < 0 {
		bad("ProducerIDExpiration", o.ProducerIDExpiration, "0 for the default, or more")
	}
	if o.SyncMethod < SyncAuto || o.SyncMethod > SyncDsync {
		bad("SyncMethod", int(o.SyncMethod), "SyncAuto, SyncFdatasync or SyncDsync")
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// Check returns an error that names each field that means nothing. Create refuses such a Config; SetConfig, which has no error to
// return, takes its default in place of each.
func (c *Config) Check() error {
	var errs []error
	bad := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s is %v: want %s", "Config."+name, value, want))
	}
	for name, n := range map[string]int64{
		"SegmentBytes": int64(c.SegmentBytes), "IndexBytes": int64(c.IndexBytes), "IndexInterval": int64(c.IndexInterval), "FlushMessages": c.FlushMessages,
	} {
		if n < 0 {
			bad(name, n, "0 for the default, or more")
		}
	}
	for name, d := range map[string]time.Duration{"SegmentAge": c.SegmentAge, "FlushInterval": c.FlushInterval} {
		if d < 0 {
			bad(name, d, "0 for the default, or more")
		}
	}
	if c.Writer < WriterAuto || c.Writer > WriterDirect {
		bad("Writer", int(c.Writer), "WriterAuto, WriterBuffered or WriterDirect")
	}
	return errors.Join(errs...)
}
