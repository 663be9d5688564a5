package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zurau/zurau/benchmarks/machine"
	"github.com/zurau/zurau/benchmarks/results"
)

type options struct {
	rounds          int
	secs            float64
	dir, results    string
	stores          string
	quick, markdown bool
	check           bool
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Args[1:])
	var bad usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &bad):
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 6 && args[0] == "one" {
		writers, err := strconv.Atoi(args[3])
		size, err2 := strconv.Atoi(args[4])
		secs, err3 := strconv.ParseFloat(args[5], 64)
		if err := errors.Join(err, err2, err3); err != nil {
			return usageError{err}
		}
		return one(ctx, args[1], args[2], writers, size, secs)
	}
	var o options
	f := flag.NewFlagSet("embedded", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 3, "rounds over all stores and rows")
	f.Float64Var(&o.secs, "secs", 3, "seconds of each measured run; the warm-up is as long at most")
	f.StringVar(&o.dir, "dir", "", "where the stores' folders are made (default: the system's temporary directory)")
	f.StringVar(&o.results, "results", "benchmarks/results", "where the JSON lines go")
	f.StringVar(&o.stores, "stores", "", "some of the stores, comma separated (default: all)")
	f.BoolVar(&o.quick, "quick", false, "one round of a quarter of a second: whether it works, not how fast")
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")
	f.BoolVar(&o.check, "check", false, "exit 1 when a goal is missed (after --quick: when a trial failed)")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if f.NArg() > 0 || o.rounds < 1 || o.secs <= 0 {
		return usageError{errors.New("want flags alone, and --rounds and --secs more than 0")}
	}
	if o.quick {
		o.rounds, o.secs = 1, 0.25
	}
	chosen, err := o.choose()
	if err != nil {
		return usageError{err}
	}
	return o.compare(ctx, chosen)
}

// choose returns the stores that run.
func (o *options) choose() ([]string, error) {
	var all []string
	for _, r := range rivals {
		all = append(all, r.name)
	}
	if o.stores == "" {
		return all, nil
	}
	some := strings.Split(o.stores, ",")
	for _, name := range some {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("--stores: no store %q: there are %s", name, strings.Join(all, ", "))
		}
	}
	return some, nil
}

// compare runs all trials and prints the tables, as far as it came.
func (o *options) compare(ctx context.Context, chosen []string) (err error) {
	of := "versus-embedded"
	if o.quick {
		of += "-quick"
	}
	j, err := results.Create(o.results, of)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.File.Close()) }()
	dir := o.dir
	if dir == "" {
		dir = os.TempDir()
	}
	m := machine.Of(dir)
	m.Quick = o.quick
	for _, w := range m.Warnings(10 << 10) {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	fmt.Fprintln(os.Stderr, "results go to", j.File.Name())
	if err := j.Add(results.Line{Kind: results.KindMachine, Time: time.Now(), Machine: m}); err != nil {
		return err
	}
	failed := o.trials(ctx, chosen, j)
	r := summarize(j.Lines)
	r.write(os.Stdout, o.markdown)
	if missed := r.missed(); failed == nil && o.check && !o.quick && len(missed) > 0 {
		failed = fmt.Errorf("goals missed: %s", strings.Join(missed, "; "))
	}
	return failed
}

// trials runs each store on each row, in each round.
func (o *options) trials(ctx context.Context, chosen []string, j *results.Journal) error {
	var failed error
	for round := 1; round <= o.rounds; round++ {
		order := slices.Clone(chosen)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, r := range rows {
			for _, name := range order {
				l := results.Line{Kind: results.KindRun, Time: time.Now(), Profile: "embedded", Row: r.name(), Broker: name, Round: round,
					Params:     results.Values{"streams": float64(r.writers), "bs": float64(r.bytes)},
					LoadBefore: machine.LoadAverage(), DirtyBeforeMB: machine.DirtyMB()}
				syscall.Sync() // nobody pays for what was written before
				v, err := trial(ctx, o, r, name)
				if ctx.Err() != nil {
					return errors.New("interrupted")
				}
				l.Secs, l.Values, l.LoadAfter, l.DirtyAfterMB = time.Since(l.Time).Seconds(), v, machine.LoadAverage(), machine.DirtyMB()
				said := fmt.Sprintf("%s appends/s, p99 %s ms", results.Significant(v["ops_s"]), results.Significant(v["lat_p99_ms"]))
				if err != nil {
					l.Error, said = err.Error(), err.Error()
				}
				fmt.Fprintf(os.Stderr, "round %d of %d, %s, %s: %s\n", round, o.rounds, l.Row, name, said)
				failed = errors.Join(failed, err, j.Add(l))
			}
		}
	}
	return failed
}
