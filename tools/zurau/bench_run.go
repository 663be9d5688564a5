package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
	"github.com/zurau/zurau/benchmarks/suite"
)

const (
	// quickTime and quickSize are what a job is cut down to by --quick.
	quickTime = 250 * time.Millisecond
	quickSize = 8 << 20
	// benchResults is where results go, as seen from the repository.
	benchResults = "benchmarks/results"
	// benchNeedMB is the free space below which a warning is due: what a fast disk takes in a profile before it is removed.
	benchNeedMB = 20 << 10
)

// benchFlags are those of the commands that measure.
type benchFlags struct {
	brokerFlags
	levels    []string
	directory string
	results   string
	only      string
	rounds    int
	runtime   time.Duration
	quick     bool
	markdown  bool
	fio       string
	native    bool
	giouring  bool
	pid       int
}

func (f *benchFlags) has(level string) bool { return slices.Contains(f.levels, level) }

func (f *benchFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.directory, "directory", ".", "`DIR` on the disk that is measured; a folder in it is made and removed")
	fl.StringVar(&f.results, "results", benchResults, "`DIR` for a new file of results, or FILE.jsonl to append further rounds to")
	fl.StringVar(&f.only, "only", "", "only sections whose names match a `PATTERN`, such as 'sync-*-64'")
	fl.IntVar(&f.rounds, "rounds", 1, "how often everything is measured; compare wants 3 at least")
	fl.DurationVar(&f.runtime, "runtime", 0, "how long each section is measured, instead of what the file says")
	fl.BoolVar(&f.quick, "quick", false, "a quarter of a second and 8 MiB for each section: whether it works, not how fast")
	fl.BoolVar(&f.markdown, "markdown", false, "print the tables as Markdown")
	fl.BoolVar(&f.json, "json", false, "print the results' lines as JSON, one object a line, instead of tables")
	if f.has(suite.Device) {
		fl.StringVar(&f.fio, "fio", "", "the fio `PROGRAM` (default: the one on the path)")
		fl.BoolVar(&f.native, "native", false, "do without fio")
		f.addGiouring(c)
	}
	if f.has(suite.Broker) {
		fl.StringSliceVarP(&f.bootstrap, "bootstrap-server", "b", nil, "`HOST:PORT,...` of the brokers to measure (default: one of this program's)")
		fl.IntVar(&f.pid, "pid", 0, "process of the broker, for its CPU and memory (default: who listens on the port)")
		fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
			if name == "bootstrap" {
				name = "bootstrap-server"
			}
			return pflag.NormalizedName(name)
		})
	}
}

// addGiouring adds the flag of the commands that may measure another ring beside ours.
func (f *benchFlags) addGiouring(c *cobra.Command) {
	c.Flags().BoolVar(&f.giouring, "giouring", false, "where a job uses a ring, measure files by giouring's ring as well ("+giouringProgram+", or built from the repository)")
}

// run runs job files.
func (f *benchFlags) run(c *cobra.Command, names []string) error {
	var files []*job.File
	for _, name := range names {
		file, err := job.Load(name)
		if err != nil {
			return err
		}
		file.Name, err = filepath.Abs(name) // fio is run in another folder
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return f.measure(c, files, f.runtime == 0 && !f.quick)
}

// check looks at the flags together.
func (f *benchFlags) check() error {
	switch _, err := path.Match(f.only, ""); {
	case err != nil:
		return usagef("--only %q: want a pattern such as 'sync-*'", f.only)
	case f.rounds < 1:
		return usagef("--rounds %d: want 1 at least", f.rounds)
	case f.runtime < 0 || f.runtime > 0 && f.runtime < 100*time.Millisecond:
		return usagef("--runtime %v: want 100ms at least", f.runtime)
	case f.quick && f.runtime > 0:
		return usagef("--quick and --runtime: want one of them")
	case f.native && f.fio != "":
		return usagef("--native and --fio: want one of them")
	case f.pid < 0:
		return usagef("--pid %d: want a process", f.pid)
	}
	return nil
}

// measure runs files at the command's levels and prints the report.
func (f *benchFlags) measure(c *cobra.Command, files []*job.File, unchanged bool) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	for _, file := range files {
		if f.quick {
			file.Shorten(quickTime, quickSize)
		} else if f.runtime > 0 {
			file.RunFor(f.runtime)
		}
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	// As serve does, and for its reason: the engine should be measured as it will run.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	}
	levels := f.levels
	if f.giouring {
		levels = append([]string{suite.Giouring}, levels...)
	}
	s := &suite.Session{Files: files, Levels: levels, Rounds: f.rounds, Unchanged: unchanged, Only: f.only}
	if err := f.options(ctx, s); err != nil {
		return err
	}
	last := 0
	if s.Journal, last, err = f.journal(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Journal.File.Close()) }()
	s.First = last + 1
	if err := f.facts(ctx, s); err != nil {
		return err
	}
	err = f.session(ctx, s)
	out := newOutput(c.OutOrStdout())
	if f.json {
		for _, l := range s.Journal.Lines {
			_ = out.object(l) // the error stays for the end
		}
	} else {
		suite.Summarize(s.Journal.Lines).Write(out, f.markdown)
	}
	return out.done(err)
}

// options fills in how the session runs.
func (f *benchFlags) options(ctx context.Context, s *suite.Session) error {
	if st, err := os.Stat(f.directory); err != nil {
		return err
	} else if !st.IsDir() {
		return fmt.Errorf("--directory %s: not a folder", f.directory)
	}
	dir, err := filepath.Abs(f.directory)
	if err != nil {
		return err
	}
	s.Options = suite.Options{Dir: dir, Fio: f.fio, Pid: f.pid}
	if f.has(suite.Device) && f.fio == "" && !f.native {
		if s.Options.Fio, _ = suite.FindFio(ctx); s.Options.Fio == "" {
			fmt.Fprintln(os.Stderr, "zurau: there is no fio; the device is measured by reads and writes of our own")
		}
	}
	if f.giouring {
		if s.Options.Giouring, err = giouring(ctx); err != nil {
			return err
		}
	}
	if !f.has(suite.Broker) {
		return nil
	}
	if len(f.bootstrap) > 0 {
		f.timeout = time.Second // seeds wants one
		s.Options.Bootstrap, err = f.seeds()
		return err
	}
	self, err := os.Executable()
	s.Options.Serve = []string{self, "serve", "--log-level", "warn"}
	return err
}

// journal opens the file of the results.
func (f *benchFlags) journal(c *cobra.Command) (*results.Journal, int, error) {
	if strings.HasSuffix(f.results, ".jsonl") {
		return results.Append(f.results)
	}
	of := "bench-" + c.Name()
	if f.quick {
		of += "-quick"
	}
	j, err := results.Create(f.results, of)
	return j, 0, err
}

// facts writes the machine's line, with warnings for who looks on.
func (f *benchFlags) facts(ctx context.Context, s *suite.Session) error {
	m := machine.Of(s.Options.Dir)
	m.Quick, m.Zurau = f.quick, revision()
	if s.Options.Fio != "" {
		_, m.Fio = suite.FindFio(ctx)
	}
	for _, w := range m.Warnings(benchNeedMB) {
		fmt.Fprintln(os.Stderr, "zurau: warning:", w)
	}
	fmt.Fprintln(os.Stderr, "zurau: results go to", s.Journal.File.Name())
	return s.Journal.Add(results.Line{Kind: results.KindMachine, Time: time.Now(), Machine: m})
}

// session runs with a bar, and a line for each run.
func (f *benchFlags) session(ctx context.Context, s *suite.Session) error {
	bar := newProgress("bench", "ms", s.Lasts().Milliseconds())
	defer bar.clear()
	s.Options.Progress = func(d time.Duration) { bar.add(d.Milliseconds()) }
	s.Said = func(l results.Line) {
		bar.clear()
		said := l.Error
		if said == "" {
			said = fmt.Sprintf("%s MB/s, %s requests/s", results.Significant(l.Values["MB_s"]), results.Significant(l.Values["ops_s"]))
			if p99, ok := l.Values["lat_p99_ms"]; ok {
				said += ", p99 " + results.Significant(p99) + " ms"
			}
		}
		fmt.Fprintf(os.Stderr, "round %d, %s, %s: %s\n", l.Round, l.Row, l.Level, said)
	}
	return s.Run(ctx)
}

// revision is the commit that this program was built from.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	is := map[string]string{}
	for _, s := range info.Settings {
		is[s.Key] = s.Value
	}
	switch {
	case is["vcs.revision"] == "":
		return info.Main.Version
	case is["vcs.modified"] == "true":
		return is["vcs.revision"] + " with changes"
	}
	return is["vcs.revision"]
}
