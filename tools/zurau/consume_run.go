package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/term"
)

// consuming is one run of consume.
type consuming struct {
	reading
	flags    *consumeFlags
	cl       *kgo.Client
	out      *output
	line     []byte
	left     int64 // of --count
	progress *progress

	// mu guards what the client's callbacks of a group share with the loop.
	mu       sync.Mutex
	position map[int32]int64 // next offset of each partition that is read
	stop     map[int32]int64 // offset to stop at, where there is a --to; of all partitions
	joined   bool            // the group has assigned partitions, if only none
}

// idle is how long the loop waits for records before it looks whether the end was reached without one.
const idle = 300 * time.Millisecond

func (x *consuming) run(ctx context.Context) error {
	err := x.begin(ctx)
	for err == nil && !x.finished() {
		if err = x.poll(ctx); err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, errEnough) || interrupted(ctx) && errors.Is(err, ctx.Err()) {
		err = nil // a reader that is stopped has done its work
	}
	err = x.out.done(err)
	return errors.Join(err, x.close())
}

// begin finds the offsets to stop at and, without a group, those to start from.
func (x *consuming) begin(ctx context.Context) error {
	rctx, cancel := x.flags.inTime(ctx)
	defer cancel()
	partitions, err := x.choose(rctx)
	if err != nil {
		return err
	}
	if x.bounded {
		stop, err := x.to.resolve(rctx, x.cl, x.topic, partitions, x.flags.committed)
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.stop = stop
		x.mu.Unlock()
	}
	if x.flags.group != "" {
		x.cl.AddConsumeTopics(x.topic)
		return nil
	}
	from, err := x.from.resolve(rctx, x.cl, x.topic, partitions, x.flags.committed)
	if err != nil {
		return err
	}
	x.position, x.joined = from, true
	offsets := map[int32]kgo.Offset{}
	var total int64
	for p, o := range from {
		if !x.bounded || o < x.stop[p] {
			offsets[p] = kgo.NewOffset().At(o)
			total += x.stop[p] - o
		}
	}
	if x.bounded && !term.IsTerminal(int(os.Stdout.Fd())) {
		x.progress = newProgress("consume "+x.topic, "records", total)
	}
	x.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{x.topic: offsets})
	return nil
}

// finished reports whether every partition was read to where it is to stop.
func (x *consuming) finished() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.bounded || !x.joined {
		return false
	}
	for p, o := range x.position {
		if stop, ok := x.stop[p]; ok && o < stop {
			return false
		}
	}
	return true
}

// pollRecords bounds what is printed between two flushes of standard output.
const pollRecords = 50_000

// poll prints what has come.
func (x *consuming) poll(ctx context.Context) error {
	pctx := ctx
	if x.bounded {
		var cancel context.CancelFunc
		pctx, cancel = context.WithTimeout(ctx, idle)
		defer cancel()
	}
	limit := pollRecords
	if x.left > 0 {
		limit = int(min(x.left, pollRecords))
	}
	fetches := x.cl.PollRecords(pctx, limit)
	defer x.cl.AllowRebalance()
	for _, e := range fetches.Errors() {
		var lost *kgo.ErrDataLoss
		switch {
		case errors.As(e.Err, &lost):
			fmt.Fprintf(os.Stderr, "zurau: %v\n", e.Err)
		case pctx.Err() != nil && errors.Is(e.Err, pctx.Err()):
		default:
			return explain(fmt.Sprintf("topic %s partition %d", e.Topic, e.Partition), e.Err)
		}
	}
	if fetches.NumRecords() == 0 && x.bounded && ctx.Err() == nil {
		return x.skipUnseen(ctx)
	}
	return x.printAll(fetches)
}

// printAll prints the records and, once they are out, marks them for the group's next commit.
func (x *consuming) printAll(fetches kgo.Fetches) (err error) {
	last := map[int32]*kgo.Record{}
	fetches.EachRecord(func(r *kgo.Record) {
		if err == nil && x.take(r) {
			last[r.Partition] = r
			err = x.write(r)
		}
	})
	if err == nil || errors.Is(err, errEnough) {
		err = errors.Join(err, x.out.done(nil))
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, r := range last {
		if x.flags.group != "" {
			x.cl.MarkCommitRecords(r)
		}
	}
	return err
}

// take accounts for a record. It reports false for one at or behind the place to stop at.
func (x *consuming) take(r *kgo.Record) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	stop, ok := x.stop[r.Partition]
	if ok && r.Offset >= stop {
		x.position[r.Partition] = stop
		x.cl.PauseFetchPartitions(map[string][]int32{x.topic: {r.Partition}})
		return false
	}
	x.position[r.Partition] = r.Offset + 1
	return true
}

// write prints one record, unless it is a marker.
func (x *consuming) write(r *kgo.Record) error {
	x.progress.add(1)
	if r.Attrs.IsControl() {
		return nil
	}
	x.line = x.print(x.line[:0], r)
	if _, err := x.out.Write(x.line); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	if x.left > 0 {
		if x.left--; x.left == 0 {
			return errEnough
		}
	}
	return nil
}

// close commits what was printed, leaves the group and closes the client.
func (x *consuming) close() (err error) {
	if x.flags.group != "" {
		ctx, cancel := x.flags.inTime(context.Background())
		defer cancel()
		if err = x.cl.CommitMarkedOffsets(ctx); err != nil {
			err = explain("commit of group "+x.flags.group, err)
		}
		x.cl.LeaveGroupContext(ctx)
	}
	x.cl.CloseAllowingRebalance()
	return err
}
