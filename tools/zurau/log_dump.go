package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zurau/zurau/tools/logfile"
)

type logDumpFlags struct {
	json, records bool
	valueBytes    int
}

func logDumpCommand() *cobra.Command {
	var f logDumpFlags
	c := &cobra.Command{
		Use:   "dump PATH...",
		Short: "Show what is in segments, indexes, snapshots and checkpoints",
		Long: `Show what is in a segment (.log), an index (.index, .timeindex, .txnindex), a producer snapshot (.snapshot), a
checkpoint, meta.properties, partition.metadata or the metadata log, or in all of them in a directory. The names of the
files say what they are. Files of Apache Kafka are the same.

Keys and values are printed in quotes where they are printable text, else in hexadecimal.`,
		Example: `  zurau log dump zurau-data/logs-0
  zurau log dump --records zurau-data/logs-0/00000000000000000000.log`,
		Args: atLeastOnePath,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
	c.Flags().BoolVar(&f.records, "records", false, "show the records of batches too")
	c.Flags().IntVar(&f.valueBytes, "value-bytes", 200, "how much of keys and values to print, 0 for all; --json has all")
	return c
}

func (f *logDumpFlags) run(c *cobra.Command, paths []string) error {
	if f.valueBytes < 0 {
		return usagef("--value-bytes %d: want 0 or more", f.valueBytes)
	}
	if err := exist(paths); err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	out := newOutput(c.OutOrStdout())
	d := logfile.Dump{Records: f.records, ValueBytes: f.valueBytes}
	if !term.IsTerminal(int(os.Stdout.Fd())) {
		p := readingProgress("dump", paths)
		defer p.clear()
		d.Progress = p.add
	}
	d.Give = func(i logfile.Item) error {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if f.json {
			return out.object(i)
		}
		_, err := out.WriteString(i.String() + "\n")
		return err
	}
	var errs []error
	for _, path := range paths {
		err := d.Path(path)
		if err != nil && !errors.Is(err, logfile.ErrDamaged) {
			return out.done(err)
		}
		errs = append(errs, err)
	}
	if err := out.done(nil); err != nil {
		return err
	}
	if err := errors.Join(errs...); err != nil {
		return errors.New("not all is whole: what is BAD is marked; zurau log verify says more")
	}
	return nil
}
