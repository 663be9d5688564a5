package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/results"
)

const sessionJob = `[global]
rw=write
bs=4k
size=1m
ioengine=psync
[one]
[two]
stonewall
nrfiles=2
[not-on-files]
stonewall
ioengine=io_uring
fdatasync=1
`

// newSession is a session of the job in a folder.
func newSession(t *testing.T, only string, levels ...string) *Session {
	t.Helper()
	f, err := job.Parse("session.fio", []byte(sessionJob))
	if err != nil {
		t.Fatal(err)
	}
	f.Shorten(100*time.Millisecond, 1<<20)
	f.RunFor(100 * time.Millisecond)
	dir := t.TempDir()
	j, _, err := results.Append(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.File.Close() })
	return &Session{Files: []*job.File{f}, Levels: levels, Rounds: 2, First: 5, Only: only, Journal: j, Options: Options{Dir: dir, Settle: func() {}}}
}

func TestASessionKeepsALineOfEachRunWithItsRoundAndParameters(t *testing.T) {
	s := newSession(t, "", Device, Engine)
	if d := s.Lasts(); d < time.Second || d > 3*time.Second {
		t.Errorf("it says that it lasts %v", d)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := results.Read(s.Journal.File.Name())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, l := range lines {
		seen[l.Row+" "+l.Level]++
		switch {
		case l.Row == "not-on-files" && l.Level == Device:
			if !strings.Contains(l.Error, ErrNotHere.Error()) {
				t.Errorf("%+v", l)
			}
		case l.Error != "" || l.Profile != "session" || l.Round < 5 || l.Round > 6 || l.Histogram == "" || l.Params["bs"] != 4096:
			t.Errorf("%+v", l)
		case l.Row == "two" && l.Params["files"] != 2:
			t.Errorf("%+v", l)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
	for what, n := range seen {
		if n != 2 {
			t.Errorf("%s has %d lines", what, n)
		}
	}
	var b strings.Builder
	Summarize(lines).Write(&b, true)
	for _, want := range []string{"| two ", "engine / device", "not at this level"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestOnlyTheSectionsThatAreAskedForRun(t *testing.T) {
	s := newSession(t, "t*", Engine)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range s.Journal.Lines {
		if l.Row != "two" {
			t.Errorf("%s ran", l.Row)
		}
	}
	if err := newSession(t, "three", Engine).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "three") {
		t.Error(err)
	}
}

func TestAFailureIsKeptAndTheOtherRunsGoOn(t *testing.T) {
	s := newSession(t, "", Broker, Engine)
	s.Options.Serve = []string{"false"}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "broker") {
		t.Error(err)
	}
	failed, done := 0, 0
	for _, l := range s.Journal.Lines {
		if l.Error != "" {
			failed++
		} else {
			done++
		}
	}
	if failed != 6 || done != 6 {
		t.Errorf("%d failed, %d done", failed, done)
	}
	if left, err := os.ReadDir(s.Options.Dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRatiosOfLevelsAreMadeWithinARound(t *testing.T) {
	var lines []results.Line
	for round, x := range []float64{100, 300, 200} {
		for level, part := range map[string]float64{Device: 1, Engine: 0.9, Broker: 0.45} {
			lines = append(lines, results.Line{Kind: results.KindRun, Row: "r", Level: level, Round: round, Values: results.Values{"MB_s": x * part, "drift": 0.2}})
		}
	}
	r := Summarize(lines)
	k := rowKey{"", "r"}
	if s := r.ratio(k, Engine, Device, "MB_s"); s.N != 3 || s.Min < 0.899 || s.Max > 0.901 {
		t.Errorf("%+v", s)
	}
	if s := r.ratio(k, Broker, Engine, "MB_s"); s.N != 3 || s.Min < 0.499 || s.Max > 0.501 {
		t.Errorf("%+v", s)
	}
	if n := strings.Join(r.notes(), " "); !strings.Contains(n, "Not steady") {
		t.Error(n)
	}
}
