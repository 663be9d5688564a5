package netio

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
)

// Frames of all sizes pour in while answers are completed late and in any order, with limits so low that every
// connection is moved in the middle of it, with frames partly read and slots outstanding.
func TestMovingToAGoroutineKeepsBytesAndOrder(t *testing.T) {
	type job struct {
		s   *Slot
		sum [4]byte
	}
	jobs := make(chan job, 1000)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for j := range jobs {
				j.s.Complete(Response{Head: frame(j.sum[:])})
			}
		})
	}
	srv, addr := serve(t, Options{MaxPending: 8, MaxPendingBytes: 200 << 10}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		j := job{s: s}
		binary.BigEndian.PutUint32(j.sum[:], crc32.ChecksumIEEE(b))
		jobs <- j
	}})
	var clients sync.WaitGroup
	for seed := range uint64(6) {
		nc := dial(t, addr)
		sums := make(chan uint32, 2000)
		clients.Go(func() {
			defer close(sums)
			rnd := rand.New(rand.NewPCG(seed, 1))
			payload := make([]byte, 300<<10)
			_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(payload)
			for range 500 {
				at := rnd.IntN(1000)
				b := payload[at : at+1+rnd.IntN(1<<(1+rnd.IntN(18)))]
				sums <- crc32.ChecksumIEEE(b)
				if _, err := nc.Write(frame(b)); err != nil {
					t.Error(err)
					return
				}
			}
		})
		clients.Go(func() {
			n := 0
			for want := range sums {
				var b [8]byte
				if _, err := io.ReadFull(nc, b[:]); err != nil {
					t.Error(err)
					return
				}
				if got := binary.BigEndian.Uint32(b[4:]); got != want {
					t.Errorf("client %d, answer %d: checksum %x, want %x", seed, n, got, want)
					return
				}
				n++
			}
			nc.Close()
		})
	}
	clients.Wait()
	settled(t, srv)
	close(jobs)
	workers.Wait()
	if srv.Stats().Moved == 0 {
		t.Error("nobody was moved: the test shows nothing")
	}
}
