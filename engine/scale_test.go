package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// own returns what /proc says of this process: the kinds are a file's lines (maps) or a folder's entries (fd).
func own(t *testing.T, kind string) int {
	t.Helper()
	name := "/proc/self/" + kind
	if kind == "fd" {
		entries, err := os.ReadDir(name)
		must(t, err)
		return len(entries)
	}
	b, err := os.ReadFile(name)
	must(t, err)
	return bytes.Count(b, []byte("\n"))
}

// makeSegments makes logs of one batch a segment, as an orderly stop of Kafka leaves them, without an engine.
func makeSegments(t *testing.T, dir string, logs, segments int) {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	points := fmt.Sprintf("0\n%d\n", logs)
	for p := range logs {
		name := Name{"t", int32(p)}
		folder := filepath.Join(dir, name.String())
		must(t, os.Mkdir(folder, 0o755))
		put := func(base int64, suffix string, b []byte) {
			must(t, os.WriteFile(segment.Name(folder, base, suffix), b, 0o644))
		}
		for base := range int64(segments) {
			b := record.Batch(batchOf(fmt.Sprint(p, ".", base), 1, 0, testNow, -1, 0).Bytes)
			b.SetBaseOffset(base)
			b.SetPartitionLeaderEpoch(0)
			put(base, segment.LogSuffix, b)
			put(base, segment.IndexSuffix, nil)
			put(base, segment.TimeSuffix, nil)
		}
		put(int64(segments), segment.SnapshotSuffix, []byte{0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0}) // of no producers
		must(t, os.WriteFile(filepath.Join(folder, "leader-epoch-checkpoint"), []byte("0\n1\n0 0\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(folder, "partition.metadata"), []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg"), 0o644))
		points += fmt.Sprintf("t %d %d\n", p, segments)
	}
	must(t, os.WriteFile(filepath.Join(dir, "recovery-point-offset-checkpoint"), []byte(points), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".kafka_cleanshutdown"), nil, 0o644))
}

// 200,000 segments in the long form: many times the descriptors that the process may have.
func TestSegmentsAreOpenedByDemand(t *testing.T) {
	logs, segments, reads, limit := 20, 10, 500, uint64(256)
	if long() {
		logs, segments, reads, limit = 2000, 100, 200_000, 4096
	}
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	t.Cleanup(func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) })
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(limit, old.Max), Max: old.Max}))

	dir := filepath.Join(t.TempDir(), "data")
	makeSegments(t, dir, logs, segments)
	before, mapped := own(t, "fd"), own(t, "maps")
	opt := Options{Dir: dir, CheckpointInterval: -1, RetentionInterval: -1}
	for _, known := range []int{0, logs} {
		began := time.Now()
		e := open(t, opt)
		took := time.Since(began)
		if r := e.Recovery(); !r.Clean || r.Logs != logs || r.Known != known || r.Offline > 0 || len(r.States) > 0 {
			t.Fatalf("start: %+v", r)
		}
		most, mostMapped := 0, 0
		rng := rand.New(rand.NewPCG(1, uint64(known)))
		for i := range reads {
			p, at := rng.IntN(logs), rng.Int64N(int64(segments))
			l, _ := e.Log(Name{"t", int32(p)})
			r, err := l.Read(at, 1, true)
			must(t, err)
			b, err := r.Bytes()
			must(t, err)
			if got := record.Batch(b); got.BaseOffset() != at || !bytes.Contains(b, fmt.Append(nil, p, ".", at, "/0")) {
				t.Fatalf("offset %d of log %d holds %q", at, p, b)
			}
			r.Release()
			if i%10 == 0 {
				if a := appendOne(l, prepared(t, 1, "v")); a.Err != nil {
					t.Fatal(a.Err)
				}
			}
			if i%max(1, reads/100) == 0 || i+1 == reads {
				most, mostMapped = max(most, own(t, "fd")), max(mostMapped, own(t, "maps"))
			}
		}
		t.Logf("%d logs of %d segments: open in %v; %d descriptors and %d mappings at the most, %d and %d before", logs, segments,
			took.Round(time.Millisecond), most, mostMapped, before, mapped)
		if most > before+e.opt.Descriptors+50 {
			t.Errorf("%d descriptors are open, %d before, with a bound of %d", most, before, e.opt.Descriptors)
		}
		if mostMapped > mapped+maxIdle {
			t.Errorf("%d mappings, %d before", mostMapped, mapped)
		}
		must(t, e.Close())
	}
}

// scaleDir tells a process of this test that it is one which is to be stopped or killed.
const scaleDir = "ZURAU_SCALE_DIR"

// TestManyLogsProcess is no test but such a process.
func TestManyLogsProcess(t *testing.T) {
	dir := os.Getenv(scaleDir)
	if dir == "" {
		t.Skip("it is started by TestManyLogsStartAndStop")
	}
	began := time.Now()
	e := open(t, Options{Dir: dir, RetentionInterval: -1})
	took := time.Since(began)
	fmt.Println("opened", e.Recovery().Logs, e.Recovery().Known, took.Seconds())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var logs int
		if n, _ := fmt.Sscanf(in.Text(), "fill %d", &logs); n == 1 {
			fillMany(t, e, logs)
			fmt.Println("filled")
			continue
		}
		began = time.Now()
		must(t, e.Close())
		fmt.Println("closed", time.Since(began).Seconds())
		return
	}
}

// fillMany makes the logs that are not there, and appends a record to each.
func fillMany(t *testing.T, e *Engine, logs int) {
	done := make(chan Appended, logs)
	p := prepared(t, 1, "v")
	for i := range int32(logs) {
		l, ok := e.Log(Name{"t", i})
		if !ok {
			var err error
			l, err = e.Create(Name{"t", i}, [16]byte{1}, Config{})
			must(t, err)
		}
		l.Append(p, 0, func(a Appended) { done <- a })
	}
	for range logs {
		must(t, (<-done).Err)
	}
}

// A process is another one, with an engine.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
}

func startProcess(t *testing.T, dir string) (p *process, logs, known int, took float64) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	p = &process{t: t, cmd: exec.Command(exe, "-test.run=^TestManyLogsProcess$", "-test.v=false")}
	p.cmd.Env = append(os.Environ(), scaleDir+"="+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	in, w, err := os.Pipe()
	must(t, err)
	p.cmd.Stdin, p.in, p.out = in, w, bufio.NewReader(out)
	must(t, p.cmd.Start())
	must(t, in.Close())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // unless it is over
		_ = p.cmd.Wait()
		_ = w.Close()
	})
	if _, err := fmt.Sscanf(p.line(), "opened %d %d %g", &logs, &known, &took); err != nil {
		t.Fatal(err)
	}
	return p, logs, known, took
}

func (p *process) line() string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%q, %v", s, err)
	}
	return s
}

func (p *process) say(format string, args ...any) string {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	must(p.t, err)
	return p.line()
}

func (p *process) kill() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // says that it was killed
}

// resident returns the memory of the process, as the kernel says it.
func (p *process) resident() string { return memory(fmt.Sprint(p.cmd.Process.Pid), "VmRSS") }

// memory returns a figure of a process's memory, by its name in /proc/PID/status.
func memory(pid, figure string) string {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(b), figure+":")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// Ten thousand logs in the long form: what their starts and stops take, and that none is looked into that is at rest.
func TestManyLogsStartAndStop(t *testing.T) {
	logs := 40
	if long() {
		logs = 10_000
	}
	dir := filepath.Join(t.TempDir(), "data")
	p, _, _, _ := startProcess(t, dir)
	began := time.Now()
	p.say("fill %d", logs)
	t.Logf("%d logs: filled in %v, %s", logs, time.Since(began).Round(time.Millisecond), p.resident())
	t.Logf("stopped: %s", strings.TrimSpace(p.say("stop")))
	step := func(what string, want int) {
		t.Helper()
		var got, known int
		var took float64
		p, got, known, took = startProcess(t, dir)
		t.Logf("%s: open in %.3f s, %d of %d logs known, %s", what, took, known, got, p.resident())
		if got != logs || want >= 0 && known != want {
			t.Errorf("%s: %d logs, %d of them known, want %d and %d", what, got, known, logs, want)
		}
	}
	step("after an orderly stop", logs)
	p.kill()
	step("after a kill of what nobody wrote to", logs)
	p.say("fill %d", logs/4)
	p.kill()
	step("after a kill with a quarter written", logs-logs/4)
	t.Logf("stopped: %s", strings.TrimSpace(p.say("stop")))
	step("after an orderly stop", logs)
	t.Logf("stopped: %s", strings.TrimSpace(p.say("stop")))
}
