package powerloss

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

const (
	// untouched is far more than anything takes that no disk holds up, on a machine with other work, and far less than a stall.
	untouched = 1500 * time.Millisecond
	clients   = 4
)

// stallFor is how long a disk does nothing.
func stallFor() time.Duration {
	if broker.Long() {
		return 10 * time.Second
	}
	return 6 * time.Second
}

// times are how long calls took.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *times) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d)
}

func (s *times) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// await waits until there are n.
func (s *times) await(t *testing.T, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); s.len() < n; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%d of %d calls are answered", s.len(), n)
		}
	}
}

// quantile returns the time that a part of the calls does not exceed.
func (s *times) quantile(q float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return 0
	}
	slices.Sort(s.all)
	return s.all[min(int(q*float64(len(s.all))), len(s.all)-1)]
}

func (s *times) String() string {
	return fmt.Sprintf("%d calls, p50 %v, p99 %v, max %v", len(s.all), s.quantile(0.5), s.quantile(0.99), s.quantile(1))
}

// A pair is an engine with a log of each mode.
type pair struct {
	e           *engine.Engine
	async, sync *engine.Log
}

func newPair(t *testing.T, dir string) *pair {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "data"), StageBytes: 4 << 20, ReserveBytes: 1 << 20, MemoryBytes: 8 << 20})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	p := &pair{e: e}
	p.async, err = e.Create(engine.Name{Topic: "async"}, [16]byte{1}, engine.Config{})
	must(t, err)
	p.sync, err = e.Create(engine.Name{Topic: "sync"}, [16]byte{2}, engine.Config{FlushMessages: 1})
	must(t, err)
	return p
}

// append appends one batch and returns what is closed when it is answered.
func (p *pair) append(l *engine.Log, id batchID, calls, answers *times) chan struct{} {
	done := make(chan struct{})
	b := id.prepared("stall", 4000)
	began := time.Now()
	l.Append(b, 0, func(a engine.Appended) {
		if answers != nil && a.Err == nil {
			answers.add(time.Since(began))
		}
		close(done)
	})
	calls.add(time.Since(began))
	return done
}

// One directory's disk does nothing for seconds, with its appends and reads on their way. Calls that are made on event loops return at
// once, of that directory, too; and the other one's are answered as if nothing were.
func TestADiskThatStallsHoldsUpNobodyElse(t *testing.T) {
	for _, fs := range rig.FileSystems {
		t.Run(fs, func(t *testing.T) {
			good, bad := rig.New(t, rig.Shutdown, fs), rig.New(t, rig.Cache, fs)
			a, b := newPair(t, good.Dir), newPair(t, bad.Dir)
			var before, during loopTimes
			load(a, b, &before, time.Second, 0)
			syncfs(t, bad.Dir) // a store into a page that is mapped and clean asks the file system
			load(a, b, &before, 200*time.Millisecond, 1)
			must(t, bad.Disk.Stall(stallFor()))
			b.append(b.async, perRound-1, &during.stalled, nil) // it changes a page, and with it the time of the file
			other := busybody(t, bad.Dir)
			for waiting := 0; waiting == 0; {
				var err error
				waiting, err = bad.Disk.Waiting()
				must(t, err)
			}
			load(a, b, &during, stallFor()-500*time.Millisecond, 2)
			must(t, bad.Disk.Unstall())
			<-other
			t.Logf("before: %v", &before)
			t.Logf("during: %v", &during)
			for what, s := range map[string]*times{"calls of the other directory": &during.calls, "answers of its async log": &during.async,
				"answers of its sync log": &during.sync} {
				if s.quantile(0.99) > untouched {
					t.Errorf("%s: %v", what, s)
				}
			}
			for what, s := range map[string]*times{"calls of the stalled directory": &during.stalled, "turns of the garbage collector": &during.gc} {
				if s.quantile(1) > untouched {
					t.Errorf("%s: %v", what, s)
				}
			}
			if len(during.calls.all) < 1000 || len(during.stalled.all) == 0 {
				t.Errorf("too little happened to tell")
			}
		})
	}
}

type loopTimes struct {
	calls, async, sync times // of the directory whose disk is well
	stalled, gc        times
}

func (l *loopTimes) String() string {
	return fmt.Sprintf("calls: %v; async answers: %v; sync answers: %v; stalled calls: %v; gc: %v", &l.calls, &l.async, &l.sync, &l.stalled, &l.gc)
}

// load does for some time what event loops do: appends to and reads of both directories, on the same goroutines. Beside them the garbage
// collector runs, which a thread that waits in a page fault would hold up, and with it everybody.
func load(a, b *pair, s *loopTimes, long time.Duration, part int) {
	end := time.Now().Add(long)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			waits := map[*engine.Log]chan struct{}{}
			for n := 1; time.Now().Before(end); n++ {
				id := batchID(perRound*(clients*part+i+1) + n)
				<-a.append(a.async, id, &s.calls, &s.async)
				for _, l := range []*engine.Log{b.async, b.sync, a.sync} {
					select { // one append of each is on its way
					case <-waits[l]:
					default:
						if waits[l] != nil && l != b.async {
							continue
						}
						if l == b.async { // nobody waits for this one's answers
							select {
							case <-tick.C:
							default:
								continue
							}
						}
					}
					p, calls, answers := b, &s.stalled, (*times)(nil)
					if l == a.sync {
						p, calls, answers = a, &s.calls, &s.sync
					}
					waits[l] = p.append(l, id, calls, answers)
				}
				read(a.async, &s.calls)
				read(b.async, &s.stalled)
				read(b.sync, &s.stalled)
			}
		})
	}
	running.Go(func() {
		for time.Now().Before(end) {
			began := time.Now()
			runtime.GC()
			s.gc.add(time.Since(began))
		}
	})
	running.Wait()
}

// busybody flushes a file of its own, which has the file system commit what was changed before: it is in the midst of that while the disk
// stalls.
func busybody(t *testing.T, dir string) chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.Create(filepath.Join(dir, "other"))
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	return done
}

// read looks for the newest records, as a fetch on an event loop does.
func read(l *engine.Log, s *times) {
	began := time.Now()
	if r, err := l.ReadNoWait(max(l.HighWatermark()-1, 0), 1<<16, true); err == nil {
		r.Release()
	}
	s.add(time.Since(began))
}

// syncfs writes everything of a file system.
func syncfs(t *testing.T, dir string) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Syncfs(fd))
}
