package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

type consumeFlags struct {
	brokerFlags
	from, to                        string
	exitAtEnd, raw, committed       bool
	group                           string
	count                           int64
	partitions                      []int32
	format, keySeparator, nullValue string
}

func consumeCommand() *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print the records of a topic",
		Long: `Print the values of a topic's records, one a line, and wait for more. Records of one partition come in their order.

Places (--from, --to) are ` + whereHelp + `. An offset outside of a partition is its
nearest end. Records are printed from --from on, and up to, not including, --to.

With --group, the partitions are shared with the other members of the consumer group, reading goes on where the group
has committed, and what was printed is committed; --from is for partitions in which the group has committed nothing.

A format for --format may hold:
` + formatHelp,
		Example: `  zurau consume logs
  zurau consume logs --exit-at-end > access.log
  zurau consume logs --from 2026-01-31T12:00:00Z --to 2026-01-31T13:00:00Z
  zurau consume users --format '%p:%o %k=%v\n' --count 10
  zurau consume backup --raw --exit-at-end --partition 0 > backup.tar`,
		Args: argsBetween(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.from, "from", "start", "`PLACE` of the first record")
	fl.StringVar(&f.to, "to", "", "`PLACE` to stop at (default never)")
	fl.BoolVar(&f.exitAtEnd, "exit-at-end", false, "stop where the partitions ended when this started: --to end")
	fl.StringVar(&f.group, "group", "", "consumer group to read as a member of")
	fl.Int64Var(&f.count, "count", 0, "stop after `N` records")
	fl.Int32SliceVar(&f.partitions, "partition", nil, "partitions to read, `N,...` (default all)")
	fl.Lookup("partition").DefValue = "" // not "[]" beside what was said
	fl.StringVar(&f.format, "format", "", "what to print of a record (see above)")
	fl.BoolVar(&f.raw, "raw", false, "print values and nothing between them")
	fl.StringVar(&f.keySeparator, "key-separator", "", "print the key and this `STRING` before the value")
	fl.StringVar(&f.nullValue, "null-value", "", "print `STRING` for the value null")
	fl.BoolVar(&f.committed, "committed", false, "leave out records of transactions that were aborted or are open")
	return c
}

// reading is what the flags of consume say.
type reading struct {
	topic    string
	from, to where
	bounded  bool // there is a to
	print    printer
}

func (f *consumeFlags) reading(c *cobra.Command, topic string) (r reading, err error) {
	r.topic = topic
	if r.from, err = parseWhere("from", f.from); err != nil {
		return r, err
	}
	changed := c.Flags().Changed
	if f.exitAtEnd {
		if changed("to") {
			return r, usagef("--exit-at-end is --to end: give one of them")
		}
		f.to = "end"
	}
	if r.bounded = f.to != "" || changed("to"); r.bounded {
		if r.to, err = parseWhere("to", f.to); err != nil {
			return r, err
		}
	}
	switch {
	case changed("group") && f.group == "":
		return r, usagef("--group is empty")
	case changed("group") && changed("partition"):
		return r, usagef("--group and --partition exclude each other: the group assigns partitions")
	case changed("count") && f.count < 1:
		return r, usagef("--count %d: want 1 or more", f.count)
	}
	for _, p := range f.partitions {
		if p < 0 {
			return r, usagef("--partition %d: want 0 or more", p)
		}
	}
	r.print, err = f.printer(c)
	return r, err
}

func (f *consumeFlags) printer(c *cobra.Command) (printer, error) {
	var ways []string
	for _, w := range []string{"raw", "format", "json"} {
		if c.Flags().Changed(w) {
			ways = append(ways, w)
		}
	}
	lines := c.Flags().Changed("key-separator") || c.Flags().Changed("null-value")
	switch {
	case len(ways) > 1:
		return nil, usagef("--%s and --%s exclude each other", ways[0], ways[1])
	case len(ways) == 1 && lines:
		return nil, usagef("--%s does not go with --key-separator or --null-value", ways[0])
	case f.raw:
		return printRaw, nil
	case f.json:
		return printJSON, nil
	case len(ways) == 1 && ways[0] == "format":
		p, err := parseFormat(f.format)
		if err != nil {
			return nil, usagef("--format %q: %w", f.format, err)
		}
		return p, nil
	}
	separator, err := unescape(f.keySeparator)
	if err != nil {
		return nil, usagef("--key-separator %q: %w", f.keySeparator, err)
	}
	return printLines([]byte(separator), []byte(f.nullValue)), nil
}

const (
	// partitionBytes is how much of a partition is fetched at once.
	partitionBytes = 4 << 20
	// fetchWait is how long a fetch waits for records, as with the Java clients. What skipUnseen asks waits behind it.
	fetchWait = 500 * time.Millisecond
)

func (f *consumeFlags) run(c *cobra.Command, topic string) error {
	r, err := f.reading(c, topic)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	x := &consuming{reading: r, flags: f, out: newOutput(c.OutOrStdout()), left: f.count,
		position: map[int32]int64{}, stop: map[int32]int64{}}
	opts := []kgo.Opt{
		kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.FetchMaxWait(fetchWait),
		// A marker of a transaction takes an offset: without it, the end of a partition might never be seen.
		kgo.KeepControlRecords(),
	}
	if f.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if f.group != "" {
		catchBrokenPipe()
		opts = append(opts, x.groupOptions()...)
	}
	if x.cl, err = f.dial(ctx, opts...); err != nil {
		return err
	}
	err = x.run(ctx)
	x.progress.clear()
	if brokenPipe(err) && f.group != "" {
		dieOfBrokenPipe()
	}
	return err
}

// choose returns the partitions to read.
func (x *consuming) choose(ctx context.Context) ([]int32, error) {
	all, err := partitionsOf(ctx, x.cl, x.topic)
	if err != nil || len(x.flags.partitions) == 0 {
		return all, err
	}
	for _, p := range x.flags.partitions {
		if !slices.Contains(all, p) {
			return nil, fmt.Errorf("topic %s has no partition %d, but %s", x.topic, p, plural(len(all), "partition"))
		}
	}
	return x.flags.partitions, nil
}

var errEnough = errors.New("enough records")
