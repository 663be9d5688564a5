package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/tools/logfile"
)

type logRepairFlags struct {
	cut, skip, records, foreign, torn, yes bool
	keep                                   string
}

func logRepairCommand() *cobra.Command {
	var f logRepairFlags
	c := &cobra.Command{
		Use:   "repair PATH",
		Short: "Show what can be done about damage, and do it",
		Long: `Repair a log directory, or the folder of a partition, of a stopped broker: what zurau does not do by itself at a start,
because a person has to decide it. First the plan is shown. Nothing is changed before it is confirmed: at a terminal by
an answer, else by --yes.

About batches that are damaged, and keep their log offline, you decide:

  --cut    end the log before the first of them: what is behind it is lost, too
  --skip   put an empty batch of the same offsets in their place, as Kafka's cleaner does where it has removed all records:
           only what is damaged is lost, and all other records keep their offsets. A transaction whose marker is among it
           stays open, until its producer or an operator ends it.
  neither  leave them

A replica or a backup that still has the records is better than both. Besides, indexes and leader epochs are made again
from the log, and producer snapshots, checkpoints and files of topic ids that are garbage are set aside: the next start
makes them again. What a crash has left, the next start heals without a repair.

All that is removed is copied first, with a list of what was done (REPAIR.txt). Copies and changes are flushed. A repair
that was cut off may be called again. The exit status is 1 where damage is left, also where the plan is only shown.`,
		Example: `  zurau log repair zurau-data
  zurau log repair --skip --yes zurau-data/orders-0`,
		Args: func(c *cobra.Command, args []string) error {
			if err := atLeastOnePath(c, args); err != nil {
				return err
			}
			return argsBetween(1, 1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	c.Flags().BoolVar(&f.cut, "cut", false, "end logs before their damaged batches")
	c.Flags().BoolVar(&f.skip, "skip", false, "put empty batches in the place of damaged ones")
	c.Flags().BoolVar(&f.records, "records", false, "decompress batches and walk their records too")
	c.Flags().BoolVar(&f.foreign, "foreign", false, "set aside files and folders that are no log's")
	c.Flags().BoolVar(&f.torn, "torn", false, "set aside the .torn- files of earlier starts")
	c.Flags().StringVar(&f.keep, "keep", "", "new `DIR` for what is removed (default the log directory with .repair-TIME behind its name)")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	return c
}

func (f *logRepairFlags) run(c *cobra.Command, path string) error {
	if f.cut && f.skip {
		return usagef("--cut and --skip: want one of them")
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.IsDir() {
		return usagef("%s is a file: want a log directory or the folder of a partition", path)
	}
	root, err := logfile.Root(path)
	if err != nil {
		return err
	}
	lock, err := logfile.Lock(root)
	if err != nil {
		return fmt.Errorf("%w: stop it first", err)
	}
	defer lock.Close()
	ctx, stop := interruptible(c.Context())
	defer stop()
	p := readingProgress("look", []string{path})
	r := logfile.Repair{Choice: f.choice(), Records: f.records, Foreign: f.foreign, Torn: f.torn, Keep: f.keep, Now: time.Now(),
		Progress: p.add, Stop: func() error { return context.Cause(ctx) }}
	plan, err := r.Plan(path)
	p.clear()
	if err != nil {
		return err
	}
	out := newOutput(c.OutOrStdout())
	f.show(out, plan)
	if err := out.Flush(); err != nil {
		return out.done(err)
	}
	left := len(plan.Undecided)+len(plan.Beyond) > 0
	switch {
	case len(plan.Steps) == 0:
	case !f.yes && !confirmed(c.InOrStdin(), c.OutOrStdout()):
		fmt.Fprintln(out, "Nothing was changed.")
		left = true
	default:
		if err := f.apply(out, &r, plan); err != nil {
			return out.done(err)
		}
	}
	if err := out.done(nil); err != nil {
		return err
	}
	if left {
		return errReported
	}
	return nil
}

func (f *logRepairFlags) choice() logfile.Choice {
	switch {
	case f.cut:
		return logfile.Cut
	case f.skip:
		return logfile.Skip
	}
	return logfile.Leave
}

// show prints the plan.
func (f *logRepairFlags) show(out *output, p *logfile.Plan) {
	if len(p.Steps) > 0 {
		fmt.Fprintf(out, "Plan for %s; what is removed goes to %s:\n", p.Root, p.Keep)
	}
	for i, s := range p.Steps {
		fmt.Fprintf(out, "%4d. %s\n", i+1, s)
	}
	problems(out, "For you to decide, with --cut or --skip", p.Undecided)
	problems(out, "Not to be repaired here", p.Beyond)
	if p.Healed > 0 {
		fmt.Fprintf(out, "%s for the next start, which needs no repair (zurau log verify --notes).\n", plural(p.Healed, "finding"))
	}
	if len(p.Steps)+len(p.Undecided)+len(p.Beyond) == 0 {
		fmt.Fprintln(out, "There is nothing to repair.")
	}
}

func problems(out *output, heading string, all []logfile.Problem) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(out, "%s:\n", heading)
	last := engine.State("")
	for _, p := range all {
		fmt.Fprintf(out, "   - %s\n", p)
		if p.State != last {
			fmt.Fprintf(out, "     next start: %s\n", p.Next)
		}
		last = p.State
	}
}

// confirmed asks at a terminal whether to go on. Where there is none, the answer is no.
func confirmed(in io.Reader, out io.Writer) bool {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		fmt.Fprintln(out, "Call it with --yes to do this.")
		return false
	}
	return asked(in, out)
}

// asked asks, and takes only a yes for one.
func asked(in io.Reader, out io.Writer) bool {
	fmt.Fprint(out, "Do this? [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n') // the end of the input is a no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func (f *logRepairFlags) apply(out *output, r *logfile.Repair, plan *logfile.Plan) error {
	p := newProgress("repair", "bytes", -1)
	defer p.clear()
	r.Progress = p.add
	n := 0
	err := plan.Apply(func(logfile.Step) { n++ })
	p.clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Done: %s. What was removed is in %s.\n", plural(n, "step"), plan.Keep)
	return nil
}
