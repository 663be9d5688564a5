package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Kinds of lines, and what a run was for: samples are measured runs, a result is what a trial's samples come to.
const (
	kindMachine = "machine"
	kindRun     = "run"
	kindLimit   = "limit"

	phaseWarm   = "warm-up"
	phaseSample = "sample"
	phaseResult = "result"
)

// A line is one line of a results file. Times without a unit in their name are in seconds; MB of memory
// are MiB, MB/s are 1e6 bytes a second, as the load tool counts.
type line struct {
	Kind    string    `json:"kind"`
	Time    time.Time `json:"time"`
	Machine *machine  `json:"machine,omitempty"`

	Row    string   `json:"row,omitempty"`
	Round  int      `json:"round,omitempty"`
	Broker string   `json:"broker,omitempty"`
	Order  int      `json:"order,omitempty"`
	Phase  string   `json:"phase,omitempty"`
	Args   []string `json:"args,omitempty"`
	Values values   `json:"values,omitempty"`
	Error  string   `json:"error,omitempty"`

	// What the machine did: load averages over one minute, CPUs that were busy with neither broker nor tool.
	LoadBefore    float64 `json:"load_before"`
	LoadAfter     float64 `json:"load_after"`
	Secs          float64 `json:"secs,omitempty"`
	OtherCores    float64 `json:"other_cores,omitempty"`
	DirtyBeforeMB float64 `json:"dirty_before_MB,omitempty"`
	DirtyAfterMB  float64 `json:"dirty_after_MB,omitempty"`
}

// summary is the line's figures, as progress shows them.
func (l *line) summary(r *row) string {
	if l.Error != "" {
		return l.Error
	}
	var s []string
	for _, f := range r.figures {
		if v, ok := l.Values[f.key]; ok {
			s = append(s, fmt.Sprintf("%s %s %s", f.name, significant(v), f.unit))
		}
	}
	return strings.Join(s, ", ")
}

// A journal keeps a run's lines, in memory and in a file that is there whatever happens later.
type journal struct {
	file  *os.File
	lines []line
}

func (j *journal) add(l line) error {
	j.lines = append(j.lines, l)
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(b, '\n'))
	return err
}

// readLines reads a file of lines.
func readLines(name string) ([]line, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []line
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(all)+1, err)
		}
		all = append(all, l)
	}
	return all, s.Err()
}
