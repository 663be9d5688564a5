package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
)

// On the host's file system, for the race detector: appenders, readers, look-ups, retention, truncation and checkpoints
// of the same logs at once.
func TestEverythingAtOnce(t *testing.T) {
	appends := 100
	if long() {
		appends = 20_000
	}
	for _, h := range ways {
		t.Run(h.name, func(t *testing.T) {
			var advanced atomic.Int64
			e := open(t, Options{Dir: t.TempDir(), SyncMethod: h.method, Now: testClock, CheckpointBytes: 20_000,
				OnAdvance: func(l *Log) { advanced.Add(1) }})
			var logs []*Log
			for i, sync := range []bool{true, false} {
				c := crashConfig(h, sync)
				c.SegmentBytes, c.RetentionBytes = 20_000, 100_000
				l, err := e.Create(Name{"t", int32(i)}, [16]byte{1}, c)
				must(t, err)
				logs = append(logs, l)
			}
			var appenders, others sync.WaitGroup
			beat := make(chan struct{}) // what waits for a disk is done now and then, or nothing else would be
			for i, l := range logs {
				for j := range 4 {
					appenders.Add(1)
					go func() {
						defer appenders.Done()
						for k := range appends {
							select {
							case beat <- struct{}{}:
							default:
							}
							r := appendOne(l, batchOf(fmt.Sprint(i, j, "-", k), 1+k%3, k%200, testNow+int64(k), int64(j), int32(k)))
							if r.Err != nil && !errors.Is(r.Err, producer.ErrOutOfOrderSequence) { // 1+k%3 records: sequences do not follow
								t.Error(r.Err)
								return
							}
						}
					}()
				}
				for _, chore := range []func(*Log) error{readThrough, lookUp, func(l *Log) error { return l.Flush() },
					func(*Log) error { return e.Checkpoint() }, func(*Log) error { return e.Retain() },
					func(l *Log) error { return l.Truncate(max(0, l.LogEndOffset()-2)) },
					func(l *Log) error {
						_, err := l.DeleteRecordsTo((l.LogStartOffset() + l.HighWatermark()) / 2)
						return past(err)
					},
				} {
					others.Add(1)
					go func() {
						defer others.Done()
						for range beat {
							if err := chore(l); err != nil {
								t.Error(err)
								return
							}
						}
					}()
				}
			}
			appenders.Wait()
			close(beat)
			others.Wait()
			for _, l := range logs {
				if _, err := contents(l); err != nil {
					t.Error(err)
				}
			}
			if advanced.Load() == 0 {
				t.Error("OnAdvance was never called")
			}
			must(t, e.Close())
		})
	}
}

// past passes over what a truncation explains: an offset from before it.
func past(err error) error {
	if errors.Is(err, ErrOffsetOutOfRange) {
		return nil
	}
	return err
}

// readThrough reads a log from its start to its end.
func readThrough(l *Log) error {
	for at := l.LogStartOffset(); ; {
		r, err := l.Read(at, 8<<10, true)
		if err != nil {
			return past(err)
		}
		b, err := r.Bytes()
		r.Release()
		if err != nil {
			return err
		}
		batch, _, err := record.Next(b)
		if err != nil {
			return nil // the end
		}
		if err := batch.Check(); err != nil {
			return fmt.Errorf("offset %d: %w", at, err)
		}
		if batch.BaseOffset() > at || batch.LastOffset() < at {
			return fmt.Errorf("asked for %d, got %d to %d", at, batch.BaseOffset(), batch.LastOffset())
		}
		at = batch.LastOffset() + 1
	}
}

func lookUp(l *Log) error {
	_, err := l.MaxTimestamp()
	if err == nil {
		_, err = l.OffsetForTime(testNow + 50)
	}
	return err
}
