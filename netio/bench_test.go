package netio

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks run the server as a process of its own, so that its processor time and memory are told from the
// client's. Its handler answers a frame of 8 bytes or more that starts with 'F' with a file range, any other with
// 40 bytes: at once, or where it starts with 'W' from a goroutine that takes what has come since it looked last.
const serverEnv = "NETIO_BENCH_SERVER"

func benchServer() {
	f, err := os.CreateTemp("", "netio-bench")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	if _, err := f.Write(make([]byte, 64<<20)); err != nil {
		panic(err)
	}
	work := make(chan *Slot, 4096)
	go func() {
		for s := range work {
			s.Complete(Response{Head: answer40})
		}
	}()
	inline, _ := strconv.Atoi(os.Getenv(serverEnv + "_INLINE"))
	s, err := Start(Options{InlineFile: inline, Listeners: []Listener{{Addr: "127.0.0.1:0"}}}, &handler{onFrame: func(_ *Conn, b []byte, s *Slot) {
		switch b[0] {
		case 'F':
			n := int(binary.BigEndian.Uint32(b[4:]))
			s.Complete(Response{
				Head:  binary.BigEndian.AppendUint32(nil, uint32(n)),
				Parts: []Part{{Fd: int(f.Fd()), Size: n}},
			})
		case 'W':
			work <- s
		default:
			s.Complete(Response{Head: answer40})
		}
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Addr()[0])
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

var answer40 = frame(make([]byte, 36))

type child struct {
	addr string
	pid  int
}

func startChild(b *testing.B) child {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return child{strings.TrimSpace(addr), cmd.Process.Pid}
}

// cpu is the process's user and system time so far; the kernel counts in hundredths of a second.
func (c child) cpu() (user, system time.Duration) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	u, _ := strconv.Atoi(f[11])
	s, _ := strconv.Atoi(f[12])
	return time.Duration(u) * 10 * time.Millisecond, time.Duration(s) * 10 * time.Millisecond
}

// rss is the process's resident memory in bytes.
func (c child) rss() int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	_, after, _ := strings.Cut(string(b), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(after)[0])
	return kb << 10
}

// exchange sends b.N requests over conns connections, each with depth in flight, and reports the server's time.
func exchange(b *testing.B, conns, depth int, request []byte, answer int) {
	c := startChild(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for range conns {
		nc := dial(b, c.addr)
		_ = nc.SetDeadline(time.Time{})
		ready.Add(1)
		done.Go(func() {
			buf := make([]byte, min(answer, 1<<20))
			ready.Done()
			<-start
			flight := 0
			for {
				for flight < depth && left.Add(-1) >= 0 {
					_, _ = nc.Write(request)
					flight++
				}
				if flight == 0 {
					return
				}
				for n := answer; n > 0; {
					m, err := nc.Read(buf[:min(n, len(buf))])
					if n -= m; err != nil {
						b.Error(err)
						return
					}
				}
				flight--
			}
		})
	}
	ready.Wait()
	u0, s0 := c.cpu()
	b.ResetTimer()
	close(start)
	done.Wait()
	b.StopTimer()
	u1, s1 := c.cpu()
	b.SetBytes(int64(answer))
	b.ReportMetric(float64((u1-u0).Microseconds())/float64(b.N), "user-µs/op")
	b.ReportMetric(float64((s1-s0).Microseconds())/float64(b.N), "sys-µs/op")
	b.ReportMetric(float64(c.rss())/(1<<20), "server-MB")
}

func BenchmarkEcho(b *testing.B) {
	request := frame(append([]byte{'E'}, make([]byte, 199)...))
	b.Run("conns=64/depth=1", func(b *testing.B) { exchange(b, 64, 1, request, 40) })
	b.Run("conns=4/depth=16", func(b *testing.B) { exchange(b, 4, 16, request, 40) })
	request = frame(append([]byte{'W'}, make([]byte, 199)...))
	b.Run("worker/conns=64/depth=1", func(b *testing.B) { exchange(b, 64, 1, request, 40) })
	request = frame(append([]byte{'E'}, make([]byte, 64<<10)...))
	b.Run("request=64K/conns=4/depth=5", func(b *testing.B) { exchange(b, 4, 5, request, 40) })
}

func BenchmarkFile(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20} {
		request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8, 'F', 0, 0, 0}, uint32(size))
		b.Run(fmt.Sprintf("%dK/conns=4", size>>10), func(b *testing.B) { exchange(b, 4, 1, request, 4+size) })
	}
}

// BenchmarkInMemory is the question that is asked before each inline sendfile.
func BenchmarkInMemory(b *testing.B) {
	f, _ := randomFile(b, 1<<20)
	var s nowheres
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			for range b.N {
				s.inMemory(int(f.Fd()), 0, size)
			}
		})
	}
}

// BenchmarkIdle reports what an idle connection costs that has sent a request once.
func BenchmarkIdle(b *testing.B) {
	c := startChild(b)
	before := c.rss()
	const n = 8000
	var conns [n]net.Conn
	for i := range conns {
		nc, err := net.Dial("tcp", c.addr)
		if err != nil {
			b.Fatal(err)
		}
		defer nc.Close()
		_, _ = nc.Write(frame([]byte("E")))
		_, _ = io.ReadFull(nc, make([]byte, 40))
		conns[i] = nc
	}
	for range b.N {
		runtime.Gosched()
	}
	b.ReportMetric(float64(c.rss()-before)/n, "bytes/conn")
	b.ReportMetric(float64(before)/(1<<20), "base-MB")
}
