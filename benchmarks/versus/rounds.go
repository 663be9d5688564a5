package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zurau/zurau/benchmarks/results"
)

// A comparison is all trials of a run of this program.
type comparison struct {
	*tools
	options *options
	journal *results.Journal
	rows    []*row
	// writeBack leaves nothing dirty, so that no run pays for what was written before it: sync(2).
	writeBack func()
}

// run does all rounds. A trial that fails does not end the others: its row lacks it, and the error is returned at the end.
func (c *comparison) run(ctx context.Context) error {
	if c.options.quick {
		c.options.rounds = 1
	}
	m := facts(ctx, c.tools, c.options)
	if err := c.journal.Add(results.Line{Kind: results.KindMachine, Time: time.Now(), Machine: m}); err != nil {
		return err
	}
	for _, w := range m.Warnings(needMB) {
		progress("warning: %s", w)
	}
	progress("%d rows, %d rounds", len(c.rows), c.options.rounds)
	var failed error
	for round := 1; round <= c.options.rounds; round++ {
		for i, r := range c.rows {
			failed = errors.Join(failed, c.row(ctx, r, round, i))
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
		}
	}
	return failed
}

// row does one row of a round: a trial of each broker and the limit beside them.
func (c *comparison) row(ctx context.Context, r *row, round, i int) error {
	brokers := []string{kafkaName, zurauName}
	if (round+i)%2 == 0 {
		brokers = []string{zurauName, kafkaName}
	}
	if c.options.only != "" {
		brokers = []string{c.options.only}
	}
	var failed error
	for order, b := range brokers {
		t := &trial{comparison: c, ctx: ctx, row: r, round: round, broker: b, order: order}
		err := t.do()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			err = fmt.Errorf("%s, %s, round %d: %w", r.id, b, round, err)
			progress("failed: %v", err)
			l := t.line(results.PhaseResult)
			l.Error = err.Error()
			failed = errors.Join(failed, err, c.journal.Add(l))
		}
	}
	if r.limit == nil || c.options.quick {
		return failed
	}
	return errors.Join(failed, c.beside(ctx, r, round))
}

// beside runs the limit tool with the row's work.
func (c *comparison) beside(ctx context.Context, r *row, round int) error {
	c.writeBack()
	l := results.Line{Kind: results.KindLimit, Time: time.Now(), Row: r.id, Round: round, Args: r.limit}
	out, err := c.watched(&l, func() (string, float64, error) { return timed(ctx, c.scratch, c.limit, r.limit...) })
	if err == nil {
		l.Values, err = parseLimit(out)
	}
	if err != nil {
		err = fmt.Errorf("limit %s: %w", strings.Join(r.limit, " "), err)
		l.Error = err.Error()
	}
	progress("round %d of %d, %s, limit %s: %s", round, c.options.rounds, r.id, r.limit[0], summary(&l, r))
	return errors.Join(err, c.journal.Add(l))
}
