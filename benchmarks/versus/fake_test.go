package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

// asBroker makes the test binary a broker.
const asBroker = "VERSUS_FAKE_BROKER"

func TestMain(m *testing.M) {
	if os.Getenv(asBroker) == "" {
		os.Exit(m.Run())
	}
	fakeBroker(after("--listen"))
}

// after returns the argument behind a flag.
func after(flag string) string {
	i := slices.Index(os.Args, flag)
	if i < 0 || i+1 == len(os.Args) {
		return ""
	}
	return os.Args[i+1]
}

// fakeBroker answers ApiVersions, and nothing else, until SIGTERM.
func fakeBroker(addr string) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var request [14]byte
			if _, err := io.ReadFull(c, request[:]); err == nil {
				c.Write([]byte{0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0})
			}
			c.Close()
		}
	}()
	<-end
}

// fakeLoad reports twice the throughput where the broker's command line, that of the process in $5, says serve.
const fakeLoad = `rate=100
grep -qz '^serve$' /proc/$5/cmdline && rate=200
echo '{"mode":"'$1'","MB_s":'$rate',"req_s":'$rate'0,"cpu_s_per_GB":2,"cpu_us_per_req":'$((10000 / rate))',"rss_MB":20,"lat_ms":{"p50":1,"p99":'$((1000 / rate))'}}'`

// script writes a program that plays one of the fakes.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// fakeTools are tools whose programs are fakes.
func fakeTools(t *testing.T) *tools {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	broker := script(t, fmt.Sprintf("%s=1 exec %q \"$@\"", asBroker, self))
	return &tools{
		root: ".", scratch: t.TempDir(), zurau: broker, load: script(t, fakeLoad),
		// As Kafka's own script, it leaves the broker behind and its process id in a file.
		script: script(t, fmt.Sprintf("%q --listen 127.0.0.1:$3 >/dev/null 2>&1 </dev/null &\necho $! >$2/pid", broker)),
	}
}

// fakeComparison compares the fakes.
func fakeComparison(t *testing.T, list string) *comparison {
	t.Helper()
	chosen, err := choose(list)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &comparison{tools: fakeTools(t), options: &options{quick: true}, journal: &results.Journal{File: f}, rows: chosen, writeBack: func() {}}
}

func TestAComparisonMeasuresBothAndLeavesNothingBehind(t *testing.T) {
	c := fakeComparison(t, "P2,P4")
	if err := c.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(c.scratch)
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
	lines, err := results.Read(c.journal.File.Name())
	if err != nil {
		t.Fatal(err)
	}
	r := summarize(lines, rows)
	if len(r.rows) != 2 || len(r.machines) != 1 || len(r.errors) > 0 {
		t.Fatalf("%+v", r)
	}
	if s := r.ratio("P2", "req_s"); s != (results.Spread{Median: 2, Min: 2, Max: 2, N: 1}) {
		t.Fatalf("ratio %+v", s)
	}
	if s := r.ratio("P2", "lat_p99_ms"); s.Median != .5 {
		t.Fatalf("ratio %+v", s)
	}
	if m := r.missed(); len(m) > 0 {
		t.Fatalf("a quick run missed %q", m)
	}
	// P2's are reached, and so is P4's throughput; its CPU is the same for both.
	r.machines[0].Quick = false
	if m := r.missed(); len(m) != 1 || m[0] != "P4 broker CPU: 1.00, floor ≤ 0.8x" {
		t.Fatalf("missed %q", m)
	}
}

func TestAFailedTrialIsNamedAndTheOthersRun(t *testing.T) {
	c := fakeComparison(t, "P1a,P2")
	good := c.load
	c.load = script(t, fmt.Sprintf("case \"$*\" in *P1a*) echo 'produce: code 3' >&2; exit 1;; esac\nexec %q \"$@\"", good))
	if err := c.run(context.Background()); err == nil || !strings.Contains(err.Error(), "code 3") {
		t.Fatalf("error %v", err)
	}
	r := summarize(c.journal.Lines, c.rows)
	if s := r.ratio("P2", "req_s"); s.N != 1 {
		t.Fatalf("P2 has %+v", s)
	}
	if m := r.missed(); len(m) != 2 { // both brokers' P1a
		t.Fatalf("missed %q", m)
	}
}

// runs reports whether there is a process that is not a zombie.
func runs(pid int) bool {
	f := machine.StatFields(fmt.Sprintf("/proc/%d/stat", pid))
	return len(f) > 0 && f[0] != "Z"
}

func TestAnInterruptStopsTheBroker(t *testing.T) {
	for _, b := range []string{kafkaName, zurauName} {
		c := fakeComparison(t, "P2")
		c.options.only = b
		ctx, cancel := context.WithCancel(context.Background())
		pids := filepath.Join(t.TempDir(), "pids")
		if err := syscall.Mkfifo(pids, 0o600); err != nil {
			t.Fatal(err)
		}
		// The load tool says who its broker is, and would then run for long.
		c.load = script(t, fmt.Sprintf("echo $5 >%q; sleep 100", pids))
		ended := make(chan error, 1)
		go func() { ended <- c.run(ctx) }()
		told := make(chan string)
		go func() {
			text, _ := os.ReadFile(pids) // what is not a number fails below
			told <- string(text)
		}()
		var text string
		select {
		case text = <-told:
		case err := <-ended:
			t.Fatalf("%s: ended before it was interrupted: %v", b, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || !runs(pid) {
			t.Fatalf("%s: process %q: %v", b, text, err)
		}
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("no error")
		}
		if runs(pid) {
			t.Fatalf("%s runs on", b)
		}
	}
}

func TestAnInterruptedStartOfKafkaLeavesNoProcess(t *testing.T) {
	dir, pids := t.TempDir(), filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(pids, 0o600); err != nil {
		t.Fatal(err)
	}
	// A broker that never answers, and a script that waits for it.
	tl := &tools{script: script(t, fmt.Sprintf("sleep 100 &\necho $$ $! >%q\nwait", pids))}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := tl.start(ctx, kafkaName, dir)
		ended <- err
	}()
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Fatal("no error")
	}
	for _, p := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(p); err != nil || runs(pid) {
			t.Fatalf("process %s runs on (%v)", p, err)
		}
	}
}

func TestABrokerThatEndsWhileStartingIsReported(t *testing.T) {
	tl := &tools{zurau: script(t, "echo no such key; exit 1"), script: script(t, "echo cannot format >&2; exit 1")}
	for b, want := range map[string]string{zurauName: "no such key", kafkaName: "cannot format"} {
		start := time.Now()
		if _, err := tl.start(context.Background(), b, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s after %v: %v", b, time.Since(start), err)
		}
	}
}
