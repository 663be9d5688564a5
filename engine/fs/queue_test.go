package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// onQueues runs a test on the host's ring and on the plain queue, on a locked thread, and closes them.
func onQueues(t *testing.T, test func(t *testing.T, q Queue)) {
	t.Helper()
	onOpenQueues(t, func(t *testing.T, q Queue) {
		test(t, q)
		must(t, q.Close())
	})
}

func onOpenQueues(t *testing.T, test func(t *testing.T, q Queue)) {
	t.Helper()
	run := func(q Queue) func(t *testing.T) {
		return func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			test(t, q)
		}
	}
	ring, err := OS().NewQueue(8)
	if errors.Is(err, ErrUnsupported) {
		t.Logf("no ring: %v", err)
	} else {
		must(t, err)
		t.Run("ring", run(ring))
	}
	t.Run("plain", run(NewPlainQueue(8)))
}

// waitFor waits until n operations have completed.
func waitFor(t testing.TB, q Queue, n int) (done []Completion) {
	t.Helper()
	for len(done) < n {
		var err error
		done, err = q.Wait(done)
		must(t, err)
	}
	return done
}

// A size limit holds for a whole process, and so does GOMAXPROCS as a server would set it.
func TestInAChild(t *testing.T) {
	if os.Getenv("ZURAU_FS_CHILD") != "" {
		t.Skip("is the child")
	}
	for _, c := range []struct{ name, run, env string }{
		{"the size limit", "TestAWriteOverTheSizeLimit", "ZURAU_FS_LIMITED=1"},
		{"one processor", "Queue|Wake|Push", "GOMAXPROCS=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", c.run, "-test.timeout", "1m")
			cmd.Env = append(os.Environ(), "ZURAU_FS_CHILD=1", c.env)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestAQueueWritesAndFlushes(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
		var want []byte
		pushed := 0
		for i := range uint64(40) {
			p := bytes.Repeat([]byte(fmt.Sprintf("%07d|", i)), BlockSize/8)
			for !q.Push(f, p, int64(len(want)), i%2 == 0, i) {
				for _, c := range waitFor(t, q, 1) {
					must(t, c.Err)
					pushed--
				}
			}
			pushed++
			want = append(want, p...)
		}
		for _, c := range waitFor(t, q, pushed) {
			must(t, c.Err)
		}
		if !q.PushSync(f, 77) {
			t.Fatal("an empty queue is full")
		}
		if done := waitFor(t, q, 1); len(done) != 1 || done[0] != (Completion{Tag: 77}) {
			t.Errorf("sync: %v", done)
		}
		same(t, "content", content(t, OS(), f.Name()), want)
	})
}

func TestAQueueWritesDirect(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		name := filepath.Join(t.TempDir(), "a")
		f := openDirect(t, name)
		p := direct(t, 4*BlockSize)
		for i := range p {
			p[i] = byte(i / BlockSize)
		}
		for i := range 4 {
			if !q.Push(f, p[i*BlockSize:(i+1)*BlockSize], int64(i)*BlockSize, true, uint64(i)) {
				t.Fatal("queue is full")
			}
		}
		for _, c := range waitFor(t, q, 4) {
			must(t, c.Err)
		}
		same(t, "content", content(t, OS(), name), p)
	})
}

func TestAFullQueueRefusesUntilWait(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
		n := 0
		for q.Push(f, []byte("x"), int64(n), false, uint64(n)) {
			n++
		}
		if n != 8 || q.PushSync(f, 9) {
			t.Errorf("a queue of depth 8 took %d writes and then a sync", n)
		}
		waitFor(t, q, 8)
		if !q.PushSync(f, 9) {
			t.Error("still full")
		}
		waitFor(t, q, 1)
	})
}

func TestAQueueReportsEachFailureWithItsTag(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		name := filepath.Join(t.TempDir(), "a")
		f := create(t, OS(), name)
		r, err := OS().Open(name, os.O_RDONLY)
		must(t, err)
		defer r.Close()
		closed, err := OS().Open(name, os.O_RDWR)
		must(t, err)
		must(t, closed.Close())
		q.Push(f, []byte("good"), 0, true, 1)
		q.Push(r, []byte("bad"), 0, true, 2)
		q.Push(closed, []byte("bad"), 0, true, 3)
		q.PushSync(closed, 4)
		q.Push(f, []byte("bad"), -1, true, 5)
		for _, c := range waitFor(t, q, 5) {
			if (c.Err == nil) != (c.Tag == 1) {
				t.Errorf("operation %d: %v", c.Tag, c.Err)
			}
		}
		same(t, "content", content(t, OS(), name), []byte("good"))
	})
}

func TestAFileClosedAfterPushIsWrittenAllTheSame(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		name := filepath.Join(t.TempDir(), "a")
		f, err := OS().Open(name, os.O_RDWR|os.O_CREATE)
		must(t, err)
		q.Push(f, []byte("pushed"), 0, true, 1)
		must(t, f.Close())
		other := create(t, OS(), name+"-other") // would take the number
		must(t, waitFor(t, q, 1)[0].Err)
		same(t, "content", content(t, OS(), name), []byte("pushed"))
		same(t, "other", content(t, OS(), other.Name()), nil)
	})
}

func TestWakeEndsAWaitThatIsBlocked(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		for range 100 {
			go q.Wake()
			if done, err := q.Wait(nil); err != nil || len(done) > 0 {
				t.Fatalf("%v, %v", done, err)
			}
		}
	})
}

func TestAWakeBeforeWaitIsNotLost(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		q.Wake()
		q.Wake()
		if done, err := q.Wait(nil); err != nil || len(done) > 0 {
			t.Fatalf("%v, %v", done, err)
		}
	})
}

// A producer wakes for each request, the owner pushes what it finds: the shape of the engine's writer. If any wake-up
// were lost the test would hang.
func TestNoWakeIsLostBetweenManyProducersAndOneQueue(t *testing.T) {
	onQueues(t, func(t *testing.T, q Queue) {
		const producers, each = 4, 500
		f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
		requests, answers := make(chan uint64, producers), make([]chan struct{}, producers)
		for i := range answers {
			answers[i] = make(chan struct{}, 1)
			go func() {
				for range each {
					requests <- uint64(i)
					q.Wake()
					<-answers[i]
				}
			}()
		}
		var done []Completion
		for left := producers * each; left > 0; {
			for more := true; more; {
				select {
				case tag := <-requests:
					if !q.Push(f, []byte("record"), int64(tag)*BlockSize, false, tag) {
						t.Fatal("queue is full")
					}
				default:
					more = false
				}
			}
			var err error
			done, err = q.Wait(done[:0])
			must(t, err)
			for _, c := range done {
				must(t, c.Err)
				answers[c.Tag] <- struct{}{}
				left--
			}
		}
	})
}

func TestCloseOfAQueueWaitsForWhatIsInFlight(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	onOpenQueues(t, func(t *testing.T, q Queue) {
		f, err := OS().Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
		must(t, err)
		defer f.Close()
		for i := range 8 {
			q.Push(f, []byte("12345678"), int64(i)*8, true, 0)
		}
		must(t, q.Close())
		same(t, "content", content(t, OS(), name), bytes.Repeat([]byte("12345678"), 8))
		q.Wake() // a late one does no harm
	})
}
