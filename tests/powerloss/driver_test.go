package powerloss

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/zurau/zurau/engine"
)

// inFlight is how many appends of a log may wait for their acknowledgement.
const inFlight = 8

// A driver does to one log what its spec says, until it is told to stop or something fails.
type driver struct {
	lane
	spec
	rng *rand.Rand
	log *engine.Log
	cfg engine.Config

	mu struct {
		sync.Mutex
		bases []int64 // of batches that were acknowledged in this round
		err   error
	}
}

func (d *driver) run() {
	if err := d.open(); err != nil {
		d.fail(err)
	}
	for d.failure() == nil {
		select {
		case <-d.stop:
			d.quiet()
			return
		default:
		}
		if d.rng.IntN(25) == 0 {
			if err := d.disturb(); err != nil {
				d.fail(err)
			}
			continue
		}
		d.append()
	}
	d.report(event{Log: d.name, What: failed, Err: d.failure().Error()})
}

// configure finds the log and says how it is to be kept from now on.
func (d *driver) configure() {
	d.cfg = engine.Config{
		SegmentBytes: 256 << 10, IndexInterval: 1 << (8 + d.rng.Int32N(5)), RetentionAge: -1, DeleteDelay: -1,
		Writer: engine.Writer(d.rng.IntN(3)),
	}
	if d.large > 0 {
		d.cfg.SegmentBytes = 1 << 20
	}
	if d.retains {
		d.cfg.RetentionBytes = 700 << 10
	}
	if d.sync {
		d.cfg.FlushMessages = 1
	}
	if l, ok := d.e.Log(engine.Name{Topic: d.name}); ok {
		d.log = l
		l.SetConfig(d.cfg)
	}
}

// open makes the log where there is none. A large one makes place.
func (d *driver) open() error {
	switch {
	case d.log == nil:
		return d.create()
	case d.log.Size() >= most:
		return d.replace()
	}
	return nil
}

func (d *driver) create() (err error) {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(d.next.Add(1))) // it must be another one than the log's before it
	id[15] = 1
	d.log, err = d.e.Create(engine.Name{Topic: d.name}, id, d.cfg)
	return err
}

// replace deletes the log and makes an empty one.
func (d *driver) replace() error {
	d.quiet()
	d.report(event{Log: d.name, What: deleting})
	if err := d.e.Delete(d.log.Name()); err != nil {
		return err
	}
	d.report(event{Log: d.name, What: deleted})
	d.mu.bases = nil
	return d.create()
}

func (d *driver) append() {
	durable := d.cfg.Sync()
	if !d.enter(durable) {
		return
	}
	id := batchID(d.next.Add(1))
	d.log.Append(id.prepared(d.name, d.largest()), 0, func(a engine.Appended) {
		if a.Err == nil {
			d.report(event{Log: d.name, What: acknowledge, ID: id, Base: a.BaseOffset, Last: a.LastOffset, Sync: durable})
		}
		d.mu.Lock()
		if a.Err == nil {
			d.mu.bases = append(d.mu.bases, a.BaseOffset)
		} else if d.mu.err == nil {
			d.mu.err = a.Err
		}
		d.mu.Unlock()
		d.leave(durable)
	})
}

// disturb does what is not an append.
func (d *driver) disturb() error {
	switch {
	case d.cuts:
		return d.truncate()
	case d.retains:
		return d.retain()
	case d.flushes:
		end := d.log.LogEndOffset()
		if err := d.log.Flush(); err != nil {
			return err
		}
		d.report(event{Log: d.name, What: flushed, Base: end})
	case d.switches:
		d.cfg.FlushMessages = 1 - d.cfg.FlushMessages
		d.log.SetConfig(d.cfg)
	case d.dies && d.rng.IntN(4) == 0:
		return d.replace()
	}
	return nil
}

// truncate cuts some of the newest batches off, and now and then many.
func (d *driver) truncate() error {
	d.quiet()
	back := len(d.mu.bases)
	if back == 0 || d.mu.err != nil {
		return nil
	}
	if d.rng.IntN(5) > 0 {
		back = min(back, 10)
	}
	i := len(d.mu.bases) - 1 - d.rng.IntN(back)
	to := d.mu.bases[i]
	if to < d.log.LogStartOffset() {
		return nil
	}
	d.report(event{Log: d.name, What: truncating, Base: to})
	if err := d.log.Truncate(to); err != nil {
		return err
	}
	d.mu.bases = d.mu.bases[:i]
	d.report(event{Log: d.name, What: truncated, Base: to})
	return nil
}

// retain raises the log's start, and has retention take what lies below it and what is too much.
func (d *driver) retain() error {
	if start, end := d.log.LogStartOffset(), d.log.HighWatermark(); end > start && d.rng.IntN(2) == 0 {
		if _, err := d.log.DeleteRecordsTo(start + d.rng.Int64N(end-start)/4); err != nil {
			return err
		}
	}
	if d.rng.IntN(2) == 0 {
		return d.e.Retain()
	}
	return nil
}

func (d *driver) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.err = errors.Join(d.mu.err, err)
}

func (d *driver) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.err
}
