package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zurau/zurau/benchmarks/results"
)

const usage = `usage: versus kafka [flags]                run the comparison with Apache Kafka
       versus embedded [flags]             run the comparison with what Go programs embed
       versus report [flags] FILE.jsonl... print the tables of earlier runs
`

// options are the command line's.
type options struct {
	rows     string
	rounds   int
	secs     float64
	quick    bool
	markdown bool
	check    bool
	only     string
	dir      string
	shared   string
	zurau    string
	results  string
	plots    string
}

func main() {
	err := run(os.Args[1:])
	var bad usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &bad):
		fmt.Fprintf(os.Stderr, "versus: %v\n%s", err, usage)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "versus: %v\n", err)
		os.Exit(1)
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func run(args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("no command")}
	}
	if args[0] == "embedded" {
		return embedded(args[1:])
	}
	var o options
	f := flag.NewFlagSet("versus "+args[0], flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are main's to print
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown, for BENCHMARKS.md")
	f.StringVar(&o.plots, "plots", "", "draw the results as well, as SVG and PNG in this folder (BENCHMARKS.md has benchmarks/plots)")
	f.BoolVar(&o.check, "check", false, "exit 1 when a floor is missed or a row failed (after --quick: when a row failed)")
	switch args[0] {
	case "kafka":
		o.flags(f)
		if err := f.Parse(args[1:]); err != nil {
			return asUsage(f, err)
		}
		return o.kafka(f.Args())
	case "report":
		if err := f.Parse(args[1:]); err != nil {
			return asUsage(f, err)
		}
		return o.report(f.Args())
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return nil
	}
	return usageError{fmt.Errorf("no command %q", args[0])}
}

func asUsage(f *flag.FlagSet, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		f.SetOutput(os.Stdout)
		f.PrintDefaults()
		return err
	}
	return usageError{err}
}

func (o *options) flags(f *flag.FlagSet) {
	f.StringVar(&o.rows, "rows", "", "rows to run, comma separated; P1 is P1a and P1b (default: all)")
	f.IntVar(&o.rounds, "rounds", 3, "rounds over the rows")
	f.Float64Var(&o.secs, "secs", 0, "seconds of each measured run (default: 10 to 20, by row)")
	f.BoolVar(&o.quick, "quick", false, "one round of one second: whether it works, not how fast")
	f.StringVar(&o.only, "only", "", "kafka or zurau: run that one alone, without ratios")
	f.StringVar(&o.dir, "dir", "", "where the brokers' directories are made (default: the system's temporary directory)")
	f.StringVar(&o.shared, "shared", "", "the folder that has oracle/ (default: ../shared beside the repository)")
	f.StringVar(&o.zurau, "zurau", "", "a zurau binary to measure (default: built from this repository)")
	f.StringVar(&o.results, "results", "", "where the JSON lines go (default: benchmarks/results)")
}

func (o *options) kafka(rest []string) error {
	if len(rest) > 0 {
		return usageError{fmt.Errorf("unexpected %q", rest[0])}
	}
	chosen, err := choose(o.rows)
	if err != nil {
		return usageError{err}
	}
	if o.only != "" && o.only != kafkaName && o.only != zurauName {
		return usageError{fmt.Errorf("--only %q: want kafka or zurau", o.only)}
	}
	if o.rounds < 1 || o.secs < 0 {
		return usageError{errors.New("--rounds and --secs must be positive")}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	lines, name, err := o.compare(untilOrphaned(ctx), chosen)
	if len(lines) > 0 {
		err = errors.Join(err, o.print(lines, chosen), o.draw([]string{name}))
	}
	return err
}

// compare runs the rows and returns their lines, as far as it came, and the file that has them.
func (o *options) compare(ctx context.Context, chosen []*row) (lines []results.Line, name string, err error) {
	t, err := prepare(ctx, o)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, t.remove()) }()
	j, err := o.journal(t.root)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, j.File.Close()) }()
	progress("results go to %s", j.File.Name())
	c := &comparison{options: o, tools: t, journal: j, rows: chosen, writeBack: syscall.Sync}
	err = c.run(ctx)
	return j.Lines, j.File.Name(), err
}

// draw has the program of benchmarks/charts, a module of its own, draw files of results, where that is wanted.
func (o *options) draw(files []string) error {
	if o.plots == "" {
		return nil
	}
	root, err := repository()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(o.plots)
	if err != nil {
		return err
	}
	args := []string{"run", "-mod=mod", ".", "-out", dir}
	for _, name := range files {
		abs, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		args = append(args, abs)
	}
	drawn, err := output(context.Background(), filepath.Join(root, "benchmarks", "charts"), "go", args...)
	if err == nil {
		progress("drawn: %s", strings.Join(strings.Fields(drawn), ", "))
	}
	return err
}

// journal opens the file of this run's lines.
func (o *options) journal(root string) (*results.Journal, error) {
	dir, of := o.results, "versus-kafka"
	if dir == "" {
		dir = filepath.Join(root, "benchmarks", "results")
	}
	if o.quick {
		of += "-quick"
	}
	return results.Create(dir, of)
}

func (o *options) report(files []string) error {
	if len(files) == 0 {
		return usageError{errors.New("report: no file")}
	}
	var lines []results.Line
	for i, name := range files {
		more, err := results.Read(name)
		if err != nil {
			return err
		}
		// Rounds of different files are different rounds.
		for j := range more {
			more[j].Round += i * 1000
		}
		lines = append(lines, more...)
	}
	return errors.Join(o.print(lines, rows), o.draw(files))
}

// print writes the tables, and returns an error where --check asks for more than was reached.
func (o *options) print(lines []results.Line, chosen []*row) error {
	r := summarize(lines, chosen)
	r.write(os.Stdout, o.markdown)
	if !o.check {
		return nil
	}
	if missed := r.missed(); len(missed) > 0 {
		return fmt.Errorf("floors missed: %s", strings.Join(missed, "; "))
	}
	return nil
}

func progress(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, a...))
}

// untilOrphaned ends the context also when the parent is gone and this program was started by go run: a signal to the
// go command alone ends that one and leaves its child to run on unseen.
func untilOrphaned(ctx context.Context) context.Context {
	exe, err := os.Executable()
	if err != nil || !strings.Contains(exe, "go-build") {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		for t := time.NewTicker(time.Second); os.Getppid() == parent; {
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return
			}
		}
		cancel()
	}()
	return ctx
}
