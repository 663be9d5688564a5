package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/server/config"
)

// asBroker makes the test binary the broker that a run starts.
const asBroker = "SUITE_BROKER"

func TestMain(m *testing.M) {
	if os.Getenv(asBroker) != "" {
		os.Exit(broker(os.Args[1:]))
	}
	goleak.VerifyTestMain(m, // gnet's pool is the library's
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

// broker is as much of zurau serve as a run needs.
func broker(args []string) int {
	o := config.Options{Flags: map[string]string{}}
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--listen":
			o.Flags["listeners"] = "PLAINTEXT://" + args[i+1]
		case "--data":
			o.Flags["log.dirs"] = args[i+1]
		case "--set":
			o.Set = append(o.Set, args[i+1])
		}
	}
	static, err := config.Load(o)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return serveUntilTerm(static)
}

// stages parses a job file's text.
func stages(t *testing.T, text string) []job.Stage {
	t.Helper()
	f, err := job.Parse("test.fio", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.Stages()
}

// levels are the levels with their options in a test.
func levels(t *testing.T) map[string]Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asBroker, "1")
	dir := t.TempDir()
	all := map[string]Options{
		"device, own": {Dir: dir}, "engine": {Dir: dir}, "broker": {Dir: dir, Serve: []string{self}},
	}
	if fio, _ := FindFio(context.Background()); fio != "" {
		all["device, fio"] = Options{Dir: dir, Fio: fio}
	}
	for name, o := range all {
		o.Settle = func() {}
		all[name] = o
	}
	return all
}

func levelOf(name string) string {
	level, _, _ := strings.Cut(name, ",")
	return level
}

const patterns = `[global]
bs=4k
size=1m
runtime=120ms
ramp_time=30ms
time_based=1
group_reporting=1

[async-buffered]
ioengine=psync
rw=write
nrfiles=3

[sync-direct]
stonewall
ioengine=io_uring
direct=1
sync=dsync
rw=write
iodepth=4
overwrite=1

[sync-fdatasync]
stonewall
ioengine=psync
fdatasync=1
rw=write
numjobs=2
thread=1

[direct-plain]
stonewall
ioengine=psync
direct=1
sync=dsync
rw=write

[at-a-rate]
stonewall
ioengine=psync
rw=write
rate=400k

[all-of-it]
stonewall
ioengine=psync
rw=write
time_based=0
runtime=60
ramp_time=0

[warm]
stonewall
ioengine=psync
rw=read
pre_read=1
invalidate=0

[cold-and-beside]
stonewall
ioengine=psync
rw=read
[mixed]
ioengine=psync
rw=rw
rwmixread=70
`

func TestOneJobRunsAtEveryLevel(t *testing.T) {
	for name, o := range levels(t) {
		for _, s := range stages(t, patterns) {
			all, err := Run(t.Context(), levelOf(name), s, o)
			if err != nil {
				t.Errorf("%s, %s: %v", name, s[0].Name, err)
				continue
			}
			if len(all) != len(s) {
				t.Errorf("%s, %s: %d figures of %d jobs", name, s[0].Name, len(all), len(s))
			}
			for _, m := range all {
				v := m.Values
				if v["ops"] < 1 || v["MB_s"] <= 0 || v["lat_p99_ms"] <= 0 || v["lat_p9999_ms"] < v["lat_p50_ms"] {
					t.Errorf("%s, %s: %v", name, m.Job.Name, v)
				}
				if m.Job.Name == "all-of-it" && (v["ops"] < 200 || v["ops"] > 256) {
					t.Errorf("%s: %v of the 256 blocks of the job", name, v["ops"])
				}
				if m.Job.Name == "at-a-rate" && v["MB_s"] > 0.6 {
					t.Errorf("%s: %v MB/s where 0.4 was asked for", name, v["MB_s"])
				}
			}
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s left %v behind, %v", name, left, err)
		}
	}
}

const tailing = `[global]
bs=4k
size=1m
runtime=300ms
filename=log
ioengine=psync
[append]
rw=write
rate=800k
[follow]
rw=read
numjobs=2
`

func TestConsumersAtTheEndSeeWhatIsAppendedInItsTime(t *testing.T) {
	for name, o := range levels(t) {
		if levelOf(name) == Device {
			continue // files have no end to wait at
		}
		all, err := Run(t.Context(), levelOf(name), stages(t, tailing)[0], o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, f := all[0].Values, all[1].Values
		if f["ops"] < a["ops"] || f["ops"] > 2*a["ops"]+4 {
			t.Errorf("%s: %v appended, %v seen by two", name, a["ops"], f["ops"])
		}
		if f["lat_max_ms"] < a["lat_p50_ms"] || f["lat_p50_ms"] > 10000 {
			t.Errorf("%s: appended in %v ms, seen after %v at most", name, a["lat_p50_ms"], f["lat_max_ms"])
		}
	}
}

func TestRetentionAndRecoveryRunBesideTheLoad(t *testing.T) {
	text := `[append]
rw=write
bs=16k
size=8m
runtime=1500ms
time_based=1
rate=40m
#zurau: retention=2m segment=1m recover=2m
`
	all, err := Run(t.Context(), Engine, stages(t, text)[0], Options{Dir: t.TempDir(), Settle: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	v := all[0].Values
	if v["recoveries"] < 1 || v["recovery_MB_s"] <= 0 {
		t.Errorf("no recovery in %v", v)
	}
	if v["at_risk_max_MB"] <= 0 {
		t.Errorf("an async log has nothing at risk: %v", v)
	}
}

func TestASyncLogHasNothingAtRisk(t *testing.T) {
	text := "[a]\nrw=write\nsync=dsync\ndirect=1\nioengine=io_uring\nsize=1m\nruntime=200ms\ntime_based=1\n"
	all, err := Run(t.Context(), Engine, stages(t, text)[0], Options{Dir: t.TempDir(), Settle: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	if v := all[0].Values; v["at_risk_max_MB"] != 0 {
		t.Errorf("%v MB acknowledged and not flushed", v["at_risk_max_MB"])
	}
}

func TestWhatALevelCannotDoIsSaidApartFromFailures(t *testing.T) {
	text := "[a]\nrw=write\nioengine=io_uring\nfdatasync=1\nsize=1m\nruntime=100ms\ntime_based=1\n"
	if _, err := Run(t.Context(), Device, stages(t, text)[0], Options{Dir: t.TempDir(), Settle: func() {}}); !errors.Is(err, ErrNotHere) {
		t.Error(err)
	}
	mixed := "[a]\nrw=write\nioengine=io_uring\ndirect=1\nsize=1m\n[b]\nrw=write\nioengine=psync\ndirect=1\nsize=1m\n"
	if _, err := Run(t.Context(), Engine, stages(t, mixed)[0], Options{Dir: t.TempDir(), Settle: func() {}}); err == nil || !strings.Contains(err.Error(), "ring") {
		t.Error(err)
	}
	if _, err := Run(t.Context(), Broker, stages(t, text)[0], Options{Dir: t.TempDir(), Serve: []string{"false"}}); err == nil || !strings.Contains(err.Error(), "ended while starting") {
		t.Error(err)
	}
}

func TestJobsOfFioThatOutliveItAreEnded(t *testing.T) {
	// A fio that ends at once and leaves a job behind, as one does that is told to end while it starts it.
	dir, pids, hold := t.TempDir(), filepath.Join(t.TempDir(), "pid"), filepath.Join(t.TempDir(), "hold")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(pids, 0o600))
	must(syscall.Mkfifo(hold, 0o600)) // nobody writes to it
	fake := filepath.Join(t.TempDir(), "fio")
	must(os.WriteFile(fake, []byte("#!/bin/bash\nsetsid bash -c 'echo $$ >"+pids+"; read -t 100 <>"+hold+"' job \"$@\" &\nwait\n"), 0o755))
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string)
	go func() {
		text, _ := os.ReadFile(pids) // what is no number fails below
		told <- strings.TrimSpace(string(text))
		cancel()
	}()
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Device, stages(t, "[a]\nrw=write\nsize=1m\n")[0], Options{Dir: dir, Fio: fake, Settle: func() {}})
		ended <- err
	}()
	pid, err := strconv.Atoi(<-told)
	must(err)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C { // a killed process is gone when its parent has seen it
		if f := machine.StatFields(fmt.Sprintf("/proc/%d/stat", pid)); len(f) == 0 || f[0] == "Z" {
			return
		}
	}
}

func TestAnInterruptEndsEveryLevel(t *testing.T) {
	text := "[a]\nrw=write\nioengine=psync\nsize=64m\nruntime=1h\ntime_based=1\n"
	why := errors.New("why")
	for name, o := range levels(t) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
		if _, err := Run(ctx, levelOf(name), stages(t, text)[0], o); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s left %v behind, %v", name, left, err)
		}
	}
}
