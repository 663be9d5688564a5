package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// Profile catch-up-read.fio, the storage side of P4: warm logs of 256 MiB read from their start, by a reader each. "range"
// looks the ranges up and leaves the bytes to sendfile; "bytes" reads them into memory.
func BenchmarkCatchUpRead(b *testing.B) {
	const batchBytes, logBytes = 64 << 10, 256 << 20
	for _, readers := range []int{1, 4} {
		logs := benchLogs(b, readers, Config{})
		batch := benchBatch(batchBytes)
		for _, l := range logs {
			fill(b, l, batch, logBytes)
		}
		for _, size := range []int{64 << 10, 1 << 20} {
			for _, kind := range []string{"range", "bytes"} {
				b.Run(fmt.Sprintf("%s/logs=%d/bytes=%d", kind, readers, size), func(b *testing.B) {
					var left atomic.Int64
					left.Store(int64(b.N))
					moved := 0
					if kind == "bytes" {
						moved = size / len(batch) * len(batch)
					}
					measure(b, "read", b.N, int64(moved), func() {
						var all sync.WaitGroup
						for _, l := range logs {
							all.Go(func() { readRound(b, l, batch, size, kind == "bytes", &left) })
						}
						all.Wait()
					})
				})
			}
		}
	}
}

// fill appends batch until the log has size bytes, 64 in flight.
func fill(b *testing.B, l *Log, batch record.Batch, size int64) {
	slots := make(chan error, 64)
	for range cap(slots) {
		slots <- nil
	}
	var p record.Prepared
	for at := int64(0); at < size; at += int64(len(batch)) {
		if err := <-slots; err != nil {
			b.Fatal(err)
		}
		if err := p.Prepare(batch, record.DefaultRules(benchEpoch)); err != nil {
			b.Fatal(err)
		}
		l.Append(&p, 0, func(a Appended) { slots <- a.Err })
	}
	for range cap(slots) {
		if err := <-slots; err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		b.Fatal(err)
	}
}

// readRound reads a log of equal batches round and round, size bytes at a time, until left is used up.
func readRound(b *testing.B, l *Log, batch record.Batch, size int, bytes bool, left *atomic.Int64) {
	records := int64(batch.Count())
	for at := l.LogStartOffset(); left.Add(-1) >= 0; {
		r, err := l.Read(at, size, true)
		if err != nil {
			b.Error(err)
			return
		}
		if bytes {
			if _, err := r.Bytes(); err != nil {
				b.Error(err)
			}
		}
		n := int64(r.Size / len(batch))
		r.Release()
		if at += n * records; n == 0 || at >= l.HighWatermark() {
			at = l.LogStartOffset()
		}
	}
}

// Profile tail-read.fio, the storage side of P5: a record of 1000 bytes is appended, and read as soon as it may be.
func BenchmarkTailRead(b *testing.B) {
	for _, m := range benchModes {
		b.Run(m.name, func(b *testing.B) {
			l := benchLogs(b, 1, m.cfg)[0]
			batch := benchBatch(1000)
			var p record.Prepared
			done := make(chan Appended, 1)
			measure(b, "record", b.N, int64(len(batch)), func() {
				for range b.N {
					if err := p.Prepare(batch, record.DefaultRules(benchEpoch)); err != nil {
						b.Fatal(err)
					}
					l.Append(&p, 0, func(a Appended) { done <- a })
					a := <-done
					if a.Err != nil {
						b.Fatal(a.Err)
					}
					r, err := l.Read(a.BaseOffset, 1<<20, true)
					if err != nil {
						b.Fatal(err)
					}
					got, err := r.Bytes()
					r.Release()
					if err != nil || len(got) != len(batch) {
						b.Fatalf("read %d of %d bytes at %d: %v", len(got), len(batch), a.BaseOffset, err)
					}
				}
			})
		})
	}
}
