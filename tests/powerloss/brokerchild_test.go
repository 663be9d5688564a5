package powerloss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
)

// brokerRole is a process with a broker, and with clients of it that tell what they were told.
const brokerRole = "broker"

// topics are what the broker has, of one partition each.
var topics = []spec{
	{name: "wire-sync", sync: true}, {name: "wire-large", sync: true, large: 600 << 10}, {name: "wire-async"},
	{name: "wire-switched", switches: true}, {name: "wire-mortal", sync: true, dies: true},
}

func brokerMain() error {
	c, dir := newChild()
	rng := c.rng(1)
	static, err := config.Load(config.Options{
		Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": dir},
		Set: []string{"zurau.stage.bytes=4194304", "zurau.reserve.bytes=1048576", "zurau.zero.ahead.bytes=33554432",
			"zurau.ring=" + []string{"auto", "auto", "off"}[rng.IntN(3)],
			"zurau.sync.method=" + []string{"auto", "dsync", "fdatasync"}[rng.IntN(3)]},
	})
	if err != nil {
		return err
	}
	s, err := server.Start(context.Background(), server.Options{Config: static,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))})
	if err != nil {
		return err
	}
	drivers := make([]*wireDriver, len(topics))
	for i, t := range topics {
		d := &wireDriver{lane: newLane(c), spec: t, rng: c.rng(i + 2)}
		if d.c, err = dial(s.Addrs()[0].String()); err != nil {
			return err
		}
		d.tell()
		drivers[i] = d
	}
	c.report(event{What: isOpen})
	var running sync.WaitGroup
	for _, d := range drivers {
		running.Go(d.run)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end asks for an orderly stop
	close(c.stop)
	running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		return err
	}
	c.report(event{What: closed})
	return nil
}

// A wireDriver is the client of one topic.
type wireDriver struct {
	lane
	spec
	rng   *rand.Rand
	c     client
	there bool // the topic is
	end   int64

	sent chan sentBatch

	mu struct {
		sync.Mutex
		err error
	}
}

type sentBatch struct {
	id      batchID
	durable bool
	request *kmsg.ProduceRequest
	records int64
}

// tell tells what the topic holds.
func (d *wireDriver) tell() {
	start, err := d.c.offset(d.name, 0, earliest)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return
	}
	if err == nil {
		d.end, err = d.c.offset(d.name, 0, latest)
	}
	e := event{Log: d.name, What: isLog, Base: start, Last: d.end}
	if err != nil {
		e.Err = err.Error()
	}
	d.report(e)
	if d.there = true; err != nil {
		return
	}
	err = d.c.eachBatch(d.name, 0, start, d.end, func(b record.Batch) error {
		id, err := idOf(d.name, d.largest(), b)
		d.report(event{Log: d.name, What: isBatch, ID: id, Base: b.BaseOffset(), Last: b.LastOffset()})
		return err
	})
	if err != nil {
		d.report(event{Log: d.name, What: failed, Err: err.Error()})
	}
}

func (d *wireDriver) run() {
	d.sent = make(chan sentBatch, inFlight)
	var answers sync.WaitGroup
	answers.Go(d.hear)
	if err := d.open(); err != nil {
		d.fail(err)
	}
	for stopped := false; d.failure() == nil && !stopped; {
		switch {
		case d.rng.IntN(25) == 0:
			if err := d.disturb(); err != nil {
				d.fail(err)
			}
		default:
			d.append()
		}
		select {
		case <-d.stop:
			stopped = true
		default:
		}
	}
	close(d.sent)
	answers.Wait()
	if err := d.failure(); err != nil {
		d.report(event{Log: d.name, What: failed, Err: err.Error()})
	}
}

// open makes the topic where there is none, or where it is large.
func (d *wireDriver) open() error {
	most := int64(16_000) // records, of some MiB
	if d.large > 0 {
		most = 3500
	}
	switch {
	case !d.there:
		return d.create()
	case d.end >= most:
		return d.replace()
	}
	return d.c.alter(d.name, "flush.messages", flushMessages(d.sync))
}

func flushMessages(durable bool) string {
	if durable {
		return "1"
	}
	return strconv.FormatInt(1<<63-1, 10)
}

func (d *wireDriver) create() error {
	return d.c.create(d.name, 1, "flush.messages", flushMessages(d.sync), "segment.bytes", "1048576", "index.interval.bytes", "500",
		"zurau.writer", []string{"auto", "buffered", "direct"}[d.rng.IntN(3)], "file.delete.delay.ms", "0")
}

func (d *wireDriver) replace() error {
	d.quiet()
	if d.failure() != nil {
		return nil
	}
	d.report(event{Log: d.name, What: deleting})
	if err := d.c.remove(d.name); err != nil {
		return err
	}
	d.report(event{Log: d.name, What: deleted})
	return d.create()
}

func (d *wireDriver) append() {
	if !d.enter(d.sync) {
		return
	}
	id := batchID(d.next.Add(1))
	r := produceRequest(d.name, 0, id.build(d.name, d.largest()))
	b := record.Batch(r.Topics[0].Partitions[0].Records)
	if err := d.c.send(r); err != nil {
		d.fail(err)
		<-d.slots
		return
	}
	d.sent <- sentBatch{id, d.sync, r, b.LastOffset() - b.BaseOffset()}
}

// hear takes the answers, which come in order.
func (d *wireDriver) hear() {
	for b := range d.sent {
		if d.failure() == nil {
			base, err := produced(receive[*kmsg.ProduceResponse](d.c, b.request))
			if err != nil {
				d.fail(err)
			} else {
				d.report(event{Log: d.name, What: acknowledge, ID: b.id, Base: base, Last: base + b.records, Sync: b.durable})
			}
		}
		d.leave(b.durable)
	}
}

// disturb does what is not an append.
func (d *wireDriver) disturb() error {
	switch {
	case d.switches:
		d.quiet()
		if d.failure() != nil {
			return nil
		}
		d.sync = !d.sync
		return d.c.alter(d.name, "flush.messages", flushMessages(d.sync))
	case d.dies && d.rng.IntN(4) == 0:
		return d.replace()
	}
	return nil
}

func (d *wireDriver) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.err == nil {
		d.mu.err = fmt.Errorf("at %s: %w", time.Now().Format(time.StampMilli), err)
	}
}

func (d *wireDriver) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.err
}
