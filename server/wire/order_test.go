package wire

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/tests/raw"
)

const (
	produceKey  = 0
	metadataKey = 3
)

func TestRequestsThatOverlapStartBeforeTheOnesBeforeThemAreAnswered(t *testing.T) {
	h, started := gated(produceKey, true)
	c := newRig(t, h).dial()
	c.send(frameHeader(0, 0, 1), frameHeader(0, 0, 2), frameHeader(0, 0, 3))
	first, second, third := <-started, <-started, <-started
	answer(third)
	answer(first)
	answer(second)
	for want := range int32(3) {
		if id, _ := c.receive(); id != want+1 {
			t.Errorf("answer %d is that of request %d", want+1, id)
		}
	}
}

func TestOtherRequestsWaitForThoseBeforeThem(t *testing.T) {
	produce, produced := gated(produceKey, true)
	metadata, asked := gated(metadataKey, false)
	c := newRig(t, produce, metadata).dial()
	c.send(frameHeader(0, 0, 1), frameHeader(3, 0, 2), frameHeader(0, 0, 3), frameHeader(3, 0, 4))
	first := <-produced
	if len(asked) != 0 || len(produced) != 0 {
		t.Fatal("a request started before its turn")
	}
	answer(first)
	second := <-asked
	if len(produced) != 0 || len(asked) != 0 {
		t.Fatal("a request overtook one that everybody waits for")
	}
	answer(second)
	answer(<-produced)
	answer(<-asked)
	for want := range int32(4) {
		if id, _ := c.receive(); id != want+1 {
			t.Errorf("answer %d is that of request %d", want+1, id)
		}
	}
}

func TestARequestThatHoldsKeepsTheNextOnesFromStarting(t *testing.T) {
	var started []int32
	held := make(chan *Request, 1)
	last := make(chan *Request, 1)
	h := Handler{Key: produceKey, Overlaps: true, Serve: func(r *Request) error {
		started = append(started, r.correlation)
		switch r.correlation {
		case 1:
			r.Hold()
			held <- r
		case 3:
			last <- r
		default:
			answer(r)
		}
		return nil
	}}
	c := newRig(t, h).dial()
	c.send(frameHeader(0, 0, 1), frameHeader(0, 0, 2), frameHeader(0, 0, 3))
	r := <-held
	if len(started) != 1 {
		t.Fatalf("started: %v", started)
	}
	r.Started()
	answer(<-last) // 2 and 3 go on though 1 is not answered
	answer(r)
	for want := range int32(3) {
		if id, _ := c.receive(); id != want+1 {
			t.Errorf("answer %d is that of request %d", want+1, id)
		}
	}
}

func TestARequestMayBeAnsweredBeforeItIsStarted(t *testing.T) {
	h := Handler{Key: produceKey, Overlaps: true, Serve: func(r *Request) error {
		r.Hold()
		go func() {
			answer(r)
			r.Started()
		}()
		return nil
	}}
	c := newRig(t, h).dial()
	for i := range int32(50) {
		c.send(frameHeader(0, 0, i))
	}
	for want := range int32(50) {
		if id, _ := c.receive(); id != want {
			t.Errorf("answer %d is that of request %d", want, id)
		}
	}
}

func TestTheBodyOfAHeldRequestIsItsOwn(t *testing.T) {
	held := make(chan *Request, 2)
	h := Handler{Key: produceKey, Overlaps: true, Serve: func(r *Request) error {
		r.Hold()
		held <- r
		return nil
	}}
	c := newRig(t, h).dial()
	c.send(append(frameHeader(0, 0, 1), "first"...))
	first := <-held
	c.send(append(frameHeader(0, 0, 2), "other"...)) // where the first was, in the loop's buffer
	first.Started()
	second := <-held
	if string(first.Body) != "first" || string(second.Body) != "other" {
		t.Errorf("bodies are %q and %q", first.Body, second.Body)
	}
	answer(first)
	second.Started()
	answer(second)
	c.receive()
	c.receive()
}

func TestARequestWithoutAnAnswerLetsTheNextOnesGo(t *testing.T) {
	produce, produced := gated(produceKey, true)
	metadata, asked := gated(metadataKey, false)
	c := newRig(t, produce, metadata).dial()
	c.send(frameHeader(0, 0, 1), frameHeader(3, 0, 2))
	(<-produced).Skip()
	answer(<-asked)
	if id, _ := c.receive(); id != 2 {
		t.Errorf("answer of request %d", id)
	}
}

// Requests of three kinds, answered from everywhere in any order: the rules of doc.go hold at every start, and answers
// come in order.
func TestStartsAndAnswersKeepTheirOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	var next, overlapping, alone int32
	begin := func(r *Request, overlaps bool) {
		mu.Lock()
		defer mu.Unlock()
		if r.correlation != next {
			t.Errorf("request %d starts, and %d is next", r.correlation, next)
		}
		next++
		switch {
		case alone > 0:
			t.Errorf("request %d starts beside one that it must wait for", r.correlation)
		case !overlaps && overlapping > 0:
			t.Errorf("request %d starts before those before it are answered", r.correlation)
		}
		if overlaps {
			overlapping++
		} else {
			alone++
		}
	}
	end := func(r *Request, overlaps bool) {
		mu.Lock()
		if overlaps {
			overlapping--
		} else {
			alone--
		}
		mu.Unlock()
		answer(r)
	}
	later, stop := make(chan func(), 1000), make(chan struct{})
	var finishers sync.WaitGroup
	for range 3 {
		finishers.Go(func() {
			for {
				select {
				case f := <-later:
					f()
				case <-stop:
					return
				}
			}
		})
	}
	serve := func(overlaps, hold bool) func(*Request) error {
		return func(r *Request) error {
			begin(r, overlaps)
			now := len(r.Body) > 0 && r.Body[0]%2 == 0
			switch {
			case now:
				end(r, overlaps)
			case hold:
				r.Hold()
				later <- func() { r.Started(); later <- func() { end(r, overlaps) } }
			default:
				later <- func() { end(r, overlaps) }
			}
			return nil
		}
	}
	rig := newRigWith(t, netio.Options{MaxPending: 50},
		Handler{Key: 0, Overlaps: true, Serve: serve(true, false)},
		Handler{Key: 1, Overlaps: true, Serve: serve(true, true)},
		Handler{Key: 3, Serve: serve(false, false)},
		Handler{Key: 19, Blocks: true, Serve: serve(false, false)})
	c := rig.dial()
	const n = 5000
	kinds := []int16{0, 0, 0, 1, 1, 3, 19}
	go func() {
		for i := range int32(n) {
			f := append(frameHeader(kinds[rnd.IntN(len(kinds))], 0, i), byte(rnd.Uint32()))
			if _, err := c.Write(raw.Sized(f)); err != nil {
				return
			}
		}
	}()
	for want := range int32(n) {
		if id, _ := c.receive(); id != want {
			t.Fatalf("answer %d is that of request %d", want, id)
		}
	}
	close(stop)
	finishers.Wait()
}

// Bounds that a client which sends and never reads must not break; then it reads, and everything is there.
func TestAClientThatNeverReadsIsHeldBack(t *testing.T) {
	const requests, size, pending, pendingBytes = 10_000, 4 << 10, 100, 256 << 10
	var server atomic.Pointer[netio.Server]
	var most atomic.Int64
	big := make([]byte, size)
	h := Handler{Key: produceKey, Overlaps: true, Serve: func(q *Request) error {
		most.Store(max(most.Load(), server.Load().Stats().Memory))
		head := GetHead()
		head.B = append(q.AppendHeader(head.B), big...)
		q.Send(netio.Response{Head: head.B, Release: head.Release})
		return nil
	}}
	r := newRigWith(t, netio.Options{MaxPending: pending, MaxPendingBytes: pendingBytes, SocketSend: 64 << 10}, h)
	server.Store(r.net)
	c := r.dial()
	go func() {
		for i := range int32(requests) {
			if _, err := c.Write(raw.Sized(frameHeader(0, 0, i))); err != nil {
				return
			}
		}
	}()
	for r.net.Stats().Moved == 0 { // it is when too much is pending that a connection leaves its event loop
		if st := r.net.Stats(); st.Closed != (netio.Stats{}).Closed {
			t.Fatalf("the connection was closed: %+v", st)
		}
	}
	for want := range int32(requests) {
		if id, b := c.receive(); id != want || len(b) != size {
			t.Fatalf("answer %d is that of request %d, of %d bytes", want, id, len(b))
		}
	}
	if limit := int64(pendingBytes + 2*size); most.Load() > limit {
		t.Errorf("%d bytes at most were held, want %d at most", most.Load(), limit)
	}
}
