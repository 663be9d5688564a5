package netio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// randomFile is a file of n random bytes, and those bytes.
func randomFile(t testing.TB, n int) (*os.File, []byte) {
	t.Helper()
	var seed [32]byte
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b)
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	return f, b
}

// ranges answers a frame that holds (position, size) pairs of 4 bytes with those ranges of f, bytes between them.
func ranges(f *os.File, b []byte, released *atomic.Int64) Response {
	r := Response{Release: func() { released.Add(1) }}
	size := 0
	for ; len(b) >= 8; b = b[8:] {
		p := Part{Fd: int(f.Fd()), Position: int64(binary.BigEndian.Uint32(b)), Size: int(binary.BigEndian.Uint32(b[4:]))}
		r.Parts = append(r.Parts, p, Part{Bytes: []byte("--")})
		size += p.Size + 2
	}
	r.Head = binary.BigEndian.AppendUint32(nil, uint32(size))
	return r
}

func ask(at, size int) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(at)), uint32(size))
}

func TestFileRangesArriveByteForByte(t *testing.T) {
	f, want := randomFile(t, 5<<20)
	tlsWrap, tlsDial := selfSigned(t)
	for name, o := range map[string]Options{
		"inline":     {InlineFile: 8 << 20},
		"goroutine":  {InlineFile: 1},
		"mixed":      {},
		"moved":      {MaxPending: 2},
		"without fd": {Listeners: []Listener{{Addr: "127.0.0.1:0", Wrap: tlsWrap}}},
	} {
		t.Run(name, func(t *testing.T) {
			var released atomic.Int64
			srv, addr := serve(t, o, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
				s.Complete(ranges(f, b, &released))
			}})
			var nc net.Conn = dial(t, addr)
			if name == "without fd" {
				nc = tlsDial(nc)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			var asked [][]byte
			for range 60 {
				var b []byte
				for range 1 + rnd.IntN(3) {
					at := rnd.IntN(len(want))
					b = append(b, ask(at, rnd.IntN(min(len(want)-at, 1<<(1+rnd.IntN(22)))))...)
				}
				asked = append(asked, b)
			}
			go func() {
				for _, b := range asked {
					_, _ = nc.Write(frame(b))
				}
			}()
			for i, b := range asked {
				got := readFrame(t, nc)
				for ; len(b) > 0; b = b[8:] {
					at, n := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
					if !bytes.Equal(got[:n], want[at:at+n]) || string(got[n:n+2]) != "--" {
						t.Fatalf("answer %d: range %d+%d differs", i, at, n)
					}
					got = got[n+2:]
				}
			}
			nc.Close()
			settled(t, srv)
			eventually(t, func() bool { return released.Load() == 60 }, never)
		})
	}
}

func TestASlowReaderOfLargeFilesHoldsNobodyUp(t *testing.T) {
	const size = 64 << 20
	f, want := randomFile(t, size)
	sum := crc32.ChecksumIEEE(want)
	var released atomic.Int64
	srv, addr := serve(t, Options{Loops: 1}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		if len(b) < 8 {
			s.Complete(Response{Head: frame(b)})
			return
		}
		s.Complete(ranges(f, b, &released))
	}})
	slow := dial(t, addr)
	_ = slow.SetReadBuffer(64 << 10)
	_, _ = slow.Write(append(frame(ask(0, size)), frame(ask(0, size))...))
	other := dial(t, addr)
	for range 2 {
		got := crc32.NewIEEE()
		if _, err := io.ReadFull(slow, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		for left := int64(size); left > 0; left -= 1 << 20 {
			_, _ = other.Write(frame([]byte("ping")))
			readFrame(t, other)
			if _, err := io.CopyN(got, slow, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(slow, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		if got.Sum32() != sum {
			t.Fatal("the file's bytes differ")
		}
	}
	if m := srv.Stats().Memory; m > 64<<10 {
		t.Errorf("%d bytes of memory for file ranges", m)
	}
	slow.Close()
	other.Close()
	settled(t, srv)
	eventually(t, func() bool { return released.Load() == 2 }, never)
}

func TestEveryAnswerIsReleasedOnceThoughTheClientVanishes(t *testing.T) {
	f, _ := randomFile(t, 8<<20)
	var released, asked atomic.Int64
	srv, addr := serve(t, Options{MaxPending: 30}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		asked.Add(1)
		r := ranges(f, b, &released)
		once, count := new(atomic.Bool), r.Release
		r.Release = func() {
			if once.Swap(true) {
				t.Error("released twice")
			}
			count()
		}
		if b[7]%3 == 0 {
			go s.Complete(r) // after the end, often enough
			return
		}
		s.Complete(r)
	}})
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		nc := dial(t, addr)
		for range 40 {
			if _, err := nc.Write(frame(ask(rnd.IntN(1<<20), rnd.IntN(6<<20)))); err != nil {
				break
			}
		}
		_, _ = io.CopyN(io.Discard, nc, int64(rnd.IntN(4<<20)))
		if rnd.IntN(2) == 0 {
			_ = nc.SetLinger(0) // a reset
		}
		nc.Close()
	}
	settled(t, srv)
	eventually(t, func() bool { return released.Load() == asked.Load() }, func() string { return "answers were not released" })
}

func TestAFileRangeThatEndsEarlyClosesTheConnection(t *testing.T) {
	f, want := randomFile(t, 1<<20)
	for _, inline := range []int{1, 4 << 20} {
		var released atomic.Int64
		srv, addr := serve(t, Options{InlineFile: inline}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
			s.Complete(ranges(f, b, &released))
		}})
		nc := dial(t, addr)
		_, _ = nc.Write(frame(ask(len(want)-1000, 2000)))
		if b, _ := io.ReadAll(nc); len(b) > 4+1000 {
			t.Errorf("%d bytes of a range of 1000", len(b))
		}
		settled(t, srv)
		if srv.Stats().Closed[ByError] != 1 {
			t.Error("not counted as an error")
		}
	}
}

func TestResidentTellsCachedPagesFromColdOnes(t *testing.T) {
	f, _ := randomFile(t, 1<<20)
	fd := int(f.Fd())
	for range 3 { // pages that are being written back stay
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
	if cached(fd, 0, 1<<20) {
		t.Skip("this file system keeps its pages")
	}
	var s nowheres
	if s.inMemory(fd, 0, 1<<20) {
		t.Error("cold pages are taken for cached ones")
	}
	_, _ = f.ReadAt(make([]byte, 1<<20), 0)
	if !cached(fd, 0, 1<<20) || !s.inMemory(fd, 0, 1<<20) || !s.inMemory(fd, 12_345, 67_890) || !nowait(fd, 500_000) {
		t.Error("cached pages are taken for cold ones")
	}
	if s.inMemory(fd, 1<<20-10, 8192) || s.inMemory(fd, 1<<20-10, 11) {
		t.Error("a range beyond the end is taken for cached")
	}
}

func TestColdRangesAreSentByAGoroutine(t *testing.T) {
	f, want := randomFile(t, 1<<20)
	_ = f.Sync()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	var released atomic.Int64
	_, addr := serve(t, Options{DiskReads: 1}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		s.Complete(ranges(f, b, &released))
	}})
	nc := dial(t, addr)
	for at := 0; at < len(want); at += 64 << 10 {
		_, _ = nc.Write(frame(ask(at, 64<<10)))
		if got := readFrame(t, nc); !bytes.Equal(got[:64<<10], want[at:at+64<<10]) {
			t.Fatal("bytes differ")
		}
	}
	_ = nc.SetDeadline(time.Time{})
}
