package embed

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

// settings are what a library must leave to its process, as text.
func settings(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	fmt.Fprintln(&s, "GOMAXPROCS", runtime.GOMAXPROCS(0))
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	fmt.Fprintln(&s, "GC percent", percent, "memory limit", debug.SetMemoryLimit(-1))
	threads := debug.SetMaxThreads(10000)
	debug.SetMaxThreads(threads)
	fmt.Fprintln(&s, "threads", threads)
	umask := unix.Umask(0)
	unix.Umask(umask)
	fmt.Fprintf(&s, "umask %o\n", umask)
	for _, which := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_MEMLOCK, unix.RLIMIT_FSIZE, unix.RLIMIT_CORE} {
		var r unix.Rlimit
		check(unix.Getrlimit(which, &r))
		fmt.Fprintln(&s, "limit", which, r.Cur, r.Max)
	}
	dir, err := os.Getwd()
	check(err)
	fmt.Fprintf(&s, "directory %s\nloggers %p %p %d %q %v\n", dir, slog.Default(), log.Default(), log.Flags(), log.Prefix(), log.Writer())
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "SigCgt") || strings.HasPrefix(line, "SigIgn") || strings.HasPrefix(line, "SigBlk") || strings.HasPrefix(line, "NoNewPrivs") {
			fmt.Fprintln(&s, line)
		}
	}
	fmt.Fprintln(&s, strings.Join(os.Environ(), "\n"))
	return s.String()
}

func TestAnEngineTouchesNothingOfItsProcess(t *testing.T) {
	for _, processors := range []int{1, runtime.GOMAXPROCS(0)} {
		before := runtime.GOMAXPROCS(processors)
		defer runtime.GOMAXPROCS(before)
		want := settings(t)
		e, err := engine.Open(engine.Options{Dir: t.TempDir()})
		check(err)
		ctx := context.Background()
		for _, c := range []engine.Config{{}, {FlushMessages: 1}, {FlushMessages: 1, Writer: engine.WriterBuffered}} {
			l, err := e.Create(engine.Name{Topic: fmt.Sprint("t", len(e.Logs()))}, [16]byte{}, c)
			check(err)
			b, err := l.NewBatcher(engine.BatcherOptions{Compression: record.Zstd})
			check(err)
			for i := range 100 {
				_, err := b.Append(ctx, record.Record{Value: fmt.Append(nil, i)}).Wait(ctx)
				check(err)
			}
			for r, err := range l.Follow(ctx, 0) {
				check(err)
				if r.Offset == 99 {
					break
				}
			}
			check(b.Close())
		}
		if got := settings(t); got != want {
			t.Errorf("with %d processors, while it runs:\n%s\nwant\n%s", processors, got, want)
		}
		check(e.Close())
		if got := settings(t); got != want {
			t.Errorf("with %d processors, after it:\n%s\nwant\n%s", processors, got, want)
		}
	}
}
