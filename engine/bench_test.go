package engine

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/record"
)

// The benchmarks stand beside fio-profiles: each names its profile. They run in ZURAU_BENCH_DIR, which should be on the
// device that the figures are about, or in the tests' temporary directory. Every append is prepared first (CRC, walk of
// the records), as a broker or an embedder does; CPU is the whole process's, user and system, without the kernel's
// writeback. Ratios within one run are what to trust.

// benchEpoch is the records' time in ms.
const benchEpoch = 1700000000000

// benchDir returns a fresh directory that goes with the benchmark.
func benchDir(b *testing.B) string {
	root := os.Getenv("ZURAU_BENCH_DIR")
	if root == "" {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(root, "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	return dir
}

// benchLogs opens an engine with n logs, both closed with the benchmark.
func benchLogs(b *testing.B, n int, cfg Config) []*Log {
	e := open(b, Options{Dir: benchDir(b)})
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	logs := make([]*Log, n)
	for i := range logs {
		l, err := e.Create(Name{"bench", int32(i)}, [16]byte{1}, cfg)
		if err != nil {
			b.Fatal(err)
		}
		logs[i] = l
	}
	return logs
}

// benchBatch returns a batch of n bytes, header included. Its records are of 1000 bytes but for the last, as far as it
// reaches, so that the walk costs what it costs a broker. Few sizes cannot be met, since a longer value lengthens its
// varints too: it is then up to two bytes smaller.
func benchBatch(n int) record.Batch {
	builder := record.NewBuilder(record.None)
	value := make([]byte, n)
	for i := range value {
		value[i] = byte('a' + i%26)
	}
	for n-builder.UncompressedSize() > 2100 {
		builder.Add(benchEpoch, nil, value[:1000])
	}
	for rest := n - max(builder.UncompressedSize(), record.HeaderSize); ; rest-- {
		last := record.NewBuilder(record.None).Add(benchEpoch, nil, value[:rest])
		if extra := last.UncompressedSize() - record.HeaderSize; extra+builder.UncompressedSize() <= n {
			return builder.Add(benchEpoch, nil, value[:rest]).Bytes()
		}
	}
}

// benchCPU returns the process's CPU time.
func benchCPU(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measure runs f between a started and a stopped clock and reports what n operations of size bytes each cost; size 0 is
// of no bytes.
func measure(b *testing.B, unit string, n int, size int64, f func()) {
	b.SetBytes(size)
	cpu := benchCPU(b)
	b.ResetTimer()
	f()
	b.StopTimer()
	cpu = benchCPU(b) - cpu
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), unit+"s/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(n), "cpu-µs/"+unit)
	if size > 0 {
		b.ReportMetric(cpu.Seconds()/(float64(n)*float64(size)/1e9), "cpu-s/GB")
	}
}

// appendAll has writers append b.N batches of size bytes, each to the log of its number, one at a time: a writer's next
// append starts when the one before it is acknowledged.
func appendAll(b *testing.B, logs []*Log, writers, size int) {
	batch := benchBatch(size)
	var left atomic.Int64
	left.Store(int64(b.N))
	latency := make([][]time.Duration, writers)
	measure(b, "append", b.N, int64(len(batch)), func() {
		var all sync.WaitGroup
		for w := range writers {
			l := logs[w%len(logs)]
			all.Go(func() {
				var p record.Prepared
				done := make(chan Appended, 1)
				for left.Add(-1) >= 0 {
					start := time.Now()
					if err := p.Prepare(batch, record.DefaultRules(benchEpoch)); err != nil {
						b.Error(err)
						return
					}
					l.Append(&p, 0, func(a Appended) { done <- a })
					if a := <-done; a.Err != nil {
						b.Error(a.Err)
						return
					}
					latency[w] = append(latency[w], time.Since(start))
				}
			})
		}
		all.Wait()
	})
	every := slices.Concat(latency...)
	slices.Sort(every)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50-µs", .5}, {"p99-µs", .99}} {
		b.ReportMetric(float64(every[int(q.at*float64(len(every)-1))].Nanoseconds())/1000, q.name)
	}
}

// benchModes are the flush modes and writers that every append benchmark compares.
var benchModes = []struct {
	name string
	cfg  Config
}{
	{"async/buffered", Config{Writer: WriterBuffered}},
	{"async/direct", Config{Writer: WriterDirect}},
	{"sync/buffered", Config{Writer: WriterBuffered, FlushMessages: 1}},
	{"sync/direct", Config{Writer: WriterDirect, FlushMessages: 1}},
}

// Profiles group-commit.fio (writers on one log) and, for what a program that embeds the engine sees, figure P11.
func BenchmarkAppend(b *testing.B) {
	for _, m := range benchModes {
		for _, logs := range []int{1, 8, 64} {
			for _, writers := range []int{1, 32} {
				for _, size := range []int{1000, 64 << 10} {
					if writers == 1 && logs > 1 {
						continue // it would use one of them
					}
					b.Run(fmt.Sprintf("%s/logs=%d/writers=%d/bytes=%d", m.name, logs, writers, size), func(b *testing.B) {
						appendAll(b, benchLogs(b, logs, m.cfg), writers, size)
					})
				}
			}
		}
	}
}

// Profiles async-append-*.fio and sync-append-*.fio, figure P7: one append in flight for each log, blocks of fio's sizes.
func BenchmarkAppendBlocks(b *testing.B) {
	for _, m := range benchModes {
		for _, logs := range []int{1, 8, 64} {
			for _, size := range []int{4 << 10, 16 << 10, 64 << 10} {
				b.Run(fmt.Sprintf("%s/logs=%d/bytes=%d", m.name, logs, size), func(b *testing.B) {
					appendAll(b, benchLogs(b, logs, m.cfg), logs, size)
				})
			}
		}
	}
}

// The same patterns with 64 appends in flight on each log, as connections with several requests in flight make them: what
// the writers gather becomes large writes. Beside P1 and P3d.
func BenchmarkAppendPipelined(b *testing.B) {
	const inFlight = 64
	for _, m := range benchModes {
		for _, logs := range []int{1, 8} {
			for _, size := range []int{1000, 16 << 10, 64 << 10} {
				b.Run(fmt.Sprintf("%s/logs=%d/bytes=%d", m.name, logs, size), func(b *testing.B) {
					pipeline(b, benchLogs(b, logs, m.cfg), inFlight, size)
				})
			}
		}
	}
}

// pipeline appends b.N batches, spread over the logs, with at most inFlight unacknowledged on each.
func pipeline(b *testing.B, logs []*Log, inFlight, size int) {
	batch := benchBatch(size)
	measure(b, "append", b.N, int64(len(batch)), func() {
		var all sync.WaitGroup
		for i, l := range logs {
			all.Go(func() {
				var p record.Prepared
				slots := make(chan error, inFlight)
				for range inFlight {
					slots <- nil
				}
				done := func(a Appended) { slots <- a.Err }
				var failed error
				for n := i; n < b.N && failed == nil; n += len(logs) {
					failed = <-slots
					if err := p.Prepare(batch, record.DefaultRules(benchEpoch)); err != nil {
						b.Error(err)
						break
					}
					l.Append(&p, 0, done)
				}
				for range inFlight {
					failed = cmp.Or(failed, <-slots)
				}
				if failed != nil {
					b.Error(failed)
				}
			})
		}
		all.Wait()
	})
}
