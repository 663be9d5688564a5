package netio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// number is a frame whose payload is n and some padding of a length that depends on n.
func number(n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	return frame(append(b, make([]byte, n*37%900)...))
}

// shuffler completes slots from several goroutines in random order.
func shuffler(t *testing.T, workers int) (h *handler, stop func()) {
	type job struct {
		s *Slot
		b []byte
	}
	jobs := make(chan job, 64)
	var wg sync.WaitGroup
	for w := range workers {
		rnd := rand.New(rand.NewPCG(uint64(w), 7))
		wg.Go(func() {
			var kept []job
			complete := func() {
				i := rnd.IntN(len(kept))
				kept[i].s.Complete(Response{Head: kept[i].b})
				kept = append(kept[:i], kept[i+1:]...)
			}
			for j := range jobs {
				for more := true; more; {
					if kept = append(kept, j); len(kept) > 8 {
						complete()
					}
					select {
					case j, more = <-jobs:
					default:
						more = false
					}
				}
				// Nothing is kept while there is nothing to do: the client may wait for it.
				for len(kept) > 0 {
					complete()
				}
			}
		})
	}
	h = &handler{onFrame: func(_ *Conn, b []byte, s *Slot) { jobs <- job{s, frame(b)} }}
	return h, func() { close(jobs); wg.Wait() }
}

func TestAnswersLeaveInOrderWhateverTheOrderOfCompletion(t *testing.T) {
	h, stop := shuffler(t, 4)
	defer stop()
	srv, addr := serve(t, Options{}, h)
	var wg sync.WaitGroup
	for range 4 {
		nc := dial(t, addr)
		const n = 3000
		go func() {
			for i := range n {
				if _, err := nc.Write(number(i)); err != nil {
					return
				}
			}
		}()
		wg.Go(func() {
			for i := range n {
				b := make([]byte, 4)
				if _, err := io.ReadFull(nc, b); err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				b = make([]byte, binary.BigEndian.Uint32(b))
				if _, err := io.ReadFull(nc, b); err != nil || int(binary.BigEndian.Uint32(b)) != i {
					t.Errorf("answer %d carries %d, %v", i, binary.BigEndian.Uint32(b), err)
					return
				}
			}
			nc.Close()
		})
	}
	wg.Wait()
	settled(t, srv)
}

// settled waits until the server has no connection and all memory was given back.
func settled(t *testing.T, s *Server) {
	t.Helper()
	eventually(t, func() bool { st := s.Stats(); return st.Connections == 0 && st.Memory == 0 },
		func() string { return fmt.Sprintf("not settled: %+v", s.Stats()) })
}

// eventually waits for a state that nothing announces, and gives up after half a minute.
func eventually(t *testing.T, ok func() bool, or func() string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal(or())
		}
	}
}

func never() string { return "waited in vain" }

func TestAClientThatClosesItsWriteSideGetsAllItsAnswers(t *testing.T) {
	release := make(chan struct{})
	var wg sync.WaitGroup
	closed := make(chan error, 1)
	h := &handler{
		onFrame: func(_ *Conn, b []byte, s *Slot) {
			answer := frame(b)
			wg.Go(func() { <-release; s.Complete(Response{Head: answer}) })
		},
		onClosed: func(_ *Conn, err error) { closed <- err },
	}
	srv, addr := serve(t, Options{}, h)
	nc := dial(t, addr)
	const n = 200
	for i := range n {
		_, _ = nc.Write(number(i))
	}
	_ = nc.CloseWrite()
	// The end is seen while all answers are outstanding.
	eventually(t, func() bool { return halfClosed(srv) }, never)
	close(release)
	for i := range n {
		if got := binary.BigEndian.Uint32(readFrame(t, nc)); int(got) != i {
			t.Fatalf("answer %d carries %d", i, got)
		}
	}
	if _, err := nc.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("after the last answer: %v, want EOF", err)
	}
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Fatalf("Closed got %v", err)
	}
	wg.Wait()
	settled(t, srv)
}

func halfClosed(s *Server) bool {
	for _, c := range s.all() {
		c.mu.Lock()
		eof := c.eof
		c.mu.Unlock()
		if eof {
			return true
		}
	}
	return false
}

func TestSkippedFramesGetNoAnswerAndAbortEndsBehindTheAnswersBeforeIt(t *testing.T) {
	var waiting []*Slot
	h := &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		switch n := binary.BigEndian.Uint32(b); {
		case n < 10:
			waiting = append(waiting, s)
		case n < 20:
			s.Skip()
		case n < 30:
			s.Complete(Response{Head: frame(b)})
		case n == 30:
			s.Abort()
			for _, s := range waiting {
				s.Complete(Response{Head: frame([]byte("late"))})
			}
		default:
			s.Complete(Response{Head: frame(b)})
		}
	}}
	srv, addr := serve(t, Options{}, h)
	nc := dial(t, addr)
	var all []byte
	for i := range 40 {
		all = append(all, number(i)...)
	}
	_, _ = nc.Write(all)
	for range 10 {
		if got := readFrame(t, nc); string(got) != "late" {
			t.Fatalf("got %q", got)
		}
	}
	for i := 20; i < 30; i++ {
		if got := binary.BigEndian.Uint32(readFrame(t, nc)); int(got) != i {
			t.Fatalf("answer %d carries %d", i, got)
		}
	}
	if n, err := nc.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatal("the connection is open behind an aborted frame")
	}
	settled(t, srv)
	if got := srv.Stats().Closed[ByHandler]; got != 1 {
		t.Errorf("%d connections closed by the handler, want 1", got)
	}
}

func TestASlotCompletedTwicePanics(t *testing.T) {
	if !raceEnabled {
		t.Skip("slots are used again without the race detector")
	}
	done := make(chan any, 1)
	h := &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		defer func() { done <- recover() }()
		s.Skip()
		s.Skip()
	}}
	_, addr := serve(t, Options{}, h)
	_, _ = dial(t, addr).Write(number(1))
	if p := <-done; p == nil {
		t.Fatal("no panic")
	}
}
