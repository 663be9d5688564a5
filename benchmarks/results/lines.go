package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zurau/zurau/benchmarks/machine"
)

// Kinds of lines, and what a run was for: samples are measured runs, a result is what a trial's samples come to.
const (
	KindMachine = "machine"
	KindRun     = "run"
	KindLimit   = "limit"

	PhaseWarm   = "warm-up"
	PhaseSample = "sample"
	PhaseResult = "result"
)

// Values are the numbers that a run gave, by name. A name ends in its unit.
type Values map[string]float64

// A Line is one line of a results file. Times without a unit in their name are in seconds; MB of memory
// are MiB, MB/s are 1e6 bytes a second.
type Line struct {
	Kind    string         `json:"kind"`
	Time    time.Time      `json:"time"`
	Machine *machine.Facts `json:"machine,omitempty"`

	// Row is what was measured: a row of a comparison, or a section of a job file. Profile is the job file's name.
	Row     string `json:"row,omitempty"`
	Profile string `json:"profile,omitempty"`
	Round   int    `json:"round,omitempty"`
	// Broker or Level is who did the work: kafka, zurau; device, engine, broker; or the name of an embedded rival.
	Broker string   `json:"broker,omitempty"`
	Level  string   `json:"level,omitempty"`
	Order  int      `json:"order,omitempty"`
	Phase  string   `json:"phase,omitempty"`
	Args   []string `json:"args,omitempty"`
	// Params are what the row asks for, such as bs, files and streams: what growth is drawn over.
	Params Values `json:"params,omitempty"`
	Values Values `json:"values,omitempty"`
	Error  string `json:"error,omitempty"`
	// Histogram is the latencies of the run in the encoding of HdrHistogram's V2, base64 with deflate, in ns.
	Histogram string `json:"histogram,omitempty"`

	// What the machine did: load averages over one minute, CPUs that were busy with neither broker nor tool.
	LoadBefore    float64 `json:"load_before"`
	LoadAfter     float64 `json:"load_after"`
	Secs          float64 `json:"secs,omitempty"`
	OtherCores    float64 `json:"other_cores,omitempty"`
	DirtyBeforeMB float64 `json:"dirty_before_MB,omitempty"`
	DirtyAfterMB  float64 `json:"dirty_after_MB,omitempty"`
}

// Who returns the broker or level of a line.
func (l *Line) Who() string {
	if l.Broker != "" {
		return l.Broker
	}
	return l.Level
}

// Measured reports whether a line's values count: a result, or a run that has no phases.
func (l *Line) Measured() bool {
	return l.Error == "" && (l.Kind == KindLimit || l.Kind == KindRun && (l.Phase == PhaseResult || l.Phase == ""))
}

// A Journal keeps a run's lines, in memory and in a file that is there whatever happens later.
type Journal struct {
	File  *os.File
	Lines []Line
}

// Add writes a line.
func (j *Journal) Add(l Line) error {
	j.Lines = append(j.Lines, l)
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = j.File.Write(append(b, '\n'))
	return err
}

// Create makes a journal whose name has the time and what it is of in dir, which is made too.
func Create(dir, of string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	stem := time.Now().Format("2006-01-02-150405") + "-" + of
	for n := 1; ; n++ {
		name := stem
		if n > 1 {
			name = fmt.Sprintf("%s-%d", stem, n)
		}
		f, err := os.OpenFile(filepath.Join(dir, name+".jsonl"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if !errors.Is(err, os.ErrExist) {
			return &Journal{File: f}, err
		}
	}
}

// Append opens a journal that may be there already, and returns the highest round that it has.
func Append(name string) (*Journal, int, error) {
	last := 0
	lines, err := Read(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, 0, err
	}
	for _, l := range lines {
		last = max(last, l.Round)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &Journal{File: f}, last, err
}

// Read reads a file of lines.
func Read(name string) ([]Line, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Line
	s := bufio.NewScanner(f)
	s.Buffer(nil, 4<<20) // a histogram is a few KB
	for s.Scan() {
		var l Line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s, line %d: not a line of results: %w", name, len(all)+1, err)
		}
		if l.Kind == "" {
			return nil, fmt.Errorf("%s, line %d: not a line of results: it has no kind", name, len(all)+1)
		}
		all = append(all, l)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", name, len(all)+1, err)
	}
	return all, nil
}

// farApart is more rounds than a file has.
const farApart = 1_000_000

// ReadAll reads files of lines; rounds of different files are different rounds.
func ReadAll(names []string) ([]Line, error) {
	var all []Line
	for i, name := range names {
		lines, err := Read(name)
		if err != nil {
			return nil, err
		}
		for j := range lines {
			lines[j].Round += i * farApart
		}
		all = append(all, lines...)
	}
	return all, nil
}
