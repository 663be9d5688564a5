package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/benchmarks/results"
	"github.com/zurau/zurau/benchmarks/suite"
)

// atLeastOneResult checks that a command got files.
func atLeastOneResult(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s: a file of results is missing", named(c))
	}
	return nil
}

func benchReportCommand() *cobra.Command {
	markdown := false
	c := &cobra.Command{
		Use:   "report FILE.jsonl...",
		Short: "Print the tables of earlier runs",
		Args:  atLeastOneResult,
		RunE: func(c *cobra.Command, args []string) error {
			lines, err := results.ReadAll(args)
			if err != nil {
				return err
			}
			out := newOutput(c.OutOrStdout())
			suite.Summarize(lines).Write(out, markdown)
			return out.done(nil)
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the tables as Markdown")
	return c
}

type benchCompareFlags struct{ all, markdown, check bool }

func benchCompareCommand() *cobra.Command {
	var f benchCompareFlags
	c := &cobra.Command{
		Use:   "compare BEFORE.jsonl AFTER.jsonl",
		Short: "Tell change from noise between two files of results",
		Long: `Compare the figures of two files of results, round by round: the ratio of each pair, their geometric mean, and the interval in which the
true ratio lies with 95 % (Student's t on the logarithms). Where that has 1 in it the difference is noise, and not shown without --all.
Three rounds are needed to say anything, and five are better.

A pair is only worth its name where its two runs were made one after the other. Files of results are appended to for that:

  for i in 1 2 3 4 5; do
    ./zurau-old bench engine JOB.fio --results before.jsonl
    ./zurau-new bench engine JOB.fio --results after.jsonl
  done
  zurau bench compare before.jsonl after.jsonl`,
		Args: argsBetween(2, 2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], args[1]) },
	}
	c.Flags().BoolVar(&f.all, "all", false, "show what is noise, too")
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print the table as Markdown")
	c.Flags().BoolVar(&f.check, "check", false, "exit 1 when something has become worse")
	return c
}

func (f *benchCompareFlags) run(c *cobra.Command, before, after string) error {
	a, err := results.Read(before)
	if err != nil {
		return err
	}
	b, err := results.Read(after)
	if err != nil {
		return err
	}
	changes := results.Compare(a, b)
	if len(changes) == 0 {
		return fmt.Errorf("%s and %s have no figure of the same row and round", before, after)
	}
	count := map[string]int{}
	for _, x := range changes {
		count[x.Verdict()]++
	}
	out := newOutput(c.OutOrStdout())
	p := results.Printer{W: out, Markdown: f.markdown}
	if t := results.ChangeTable(changes, f.all); len(t) > 1 {
		p.Table(t)
	}
	p.Note(fmt.Sprintf("%d figures: %d better, %d worse, %d noise, %d of too few rounds. About one in twenty of those that did not change is called a change.",
		len(changes), count[results.Better], count[results.Worse], count[results.Noise], count[results.TooFew]))
	for _, d := range results.Doubts(a, b) {
		p.Note("Doubtful: " + d + ".")
	}
	if err := out.done(nil); err != nil {
		return err
	}
	if f.check && count[results.Worse] > 0 {
		return errReported
	}
	return nil
}

func benchKeysCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "Say which keys of fio's job files are understood, and what they mean to a log",
		Args:  argsBetween(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			out := newOutput(c.OutOrStdout())
			for _, part := range []struct {
				title string
				docs  []job.Doc
			}{
				{"Keys of fio, and what the engine and the broker make of them", job.Keys()},
				{"Keys of our own, in comments that start with #zurau: and that fio passes over", job.OwnKeys()},
				{"Keys of fio that are ignored, and why", job.Ignored()},
			} {
				fmt.Fprintf(out, "%s\n\n", part.title)
				var t [][]string
				for _, d := range part.docs {
					t = append(t, []string{d.Name, d.Says})
				}
				out.table("  ", t)
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out, "Any other key is an error.")
			return out.done(nil)
		},
	}
}
