package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/term"
)

// sending is one run of produce.
type sending struct {
	cl        *kgo.Client
	topic     string
	partition int32
	progress  *progress

	slab   []kgo.Record // records are allocated many at a time
	began  time.Time
	stop   context.CancelFunc
	read   int64 // records cut from the input
	failed atomic.Pointer[error]
	// delivered counts what the brokers have confirmed.
	delivered, bytes atomic.Int64
}

// sent is what --json prints.
type sent struct {
	Topic   string  `json:"topic"`
	Records int64   `json:"records"` // delivered
	Bytes   int64   `json:"bytes"`   // of their keys and values
	Failed  int64   `json:"failed"`  // read and not delivered
	Seconds float64 `json:"seconds"`
}

func (s *sending) summary() sent {
	n := s.delivered.Load()
	return sent{s.topic, n, s.bytes.Load(), s.read - n, time.Since(s.began).Seconds()}
}

// all sends the whole input and returns when every record is delivered or has failed.
func (s *sending) all(ctx context.Context, in io.Reader, cut cutting) error {
	s.began = time.Now()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	s.stop = stop
	defer context.AfterFunc(ctx, func() {
		s.progress.clear()
		fmt.Fprintln(os.Stderr, "zurau: interrupted: sending what was read; interrupt again to stop at once")
	})()
	err := s.cut(reading, pieces(reading, in), &cutter{cutting: cut})
	if cause := s.failed.Load(); cause != nil {
		s.abort()
	} else if ferr := s.cl.Flush(context.Background()); ferr != nil { // ends with the delivery timeout
		err = errors.Join(err, ferr)
	}
	s.progress.clear()
	return s.outcome(ctx, err)
}

// cut makes records of the pieces until they end, or reading does.
func (s *sending) cut(ctx context.Context, in <-chan piece, c *cutter) error {
	emit := func(key, value []byte) error {
		s.send(key, value, c.headers)
		return ctx.Err()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p, ok := <-in:
			if !ok {
				return nil
			}
			err := c.take(p.bytes, emit)
			if err == nil && p.err == io.EOF {
				return c.finish(emit)
			}
			if err == nil {
				err = p.err
			}
			if err != nil {
				return err
			}
			s.progress.add(int64(len(p.bytes)))
		}
	}
}

// slabRecords is how many records are allocated at once.
const slabRecords = 256

// send hands a record to the client. It waits while too much is on its way.
func (s *sending) send(key, value []byte, headers []kgo.RecordHeader) {
	if len(s.slab) == 0 {
		s.slab = make([]kgo.Record, slabRecords)
	}
	r := &s.slab[0]
	s.slab = s.slab[1:]
	r.Topic, r.Partition, r.Key, r.Value, r.Headers = s.topic, s.partition, key, value, headers
	s.read++
	// Not the context of the signal: what was read is sent.
	s.cl.Produce(context.Background(), r, s.done)
}

// done is called for each record, one call after the other.
func (s *sending) done(r *kgo.Record, err error) {
	if err == nil {
		s.delivered.Add(1)
		s.bytes.Add(int64(len(r.Key) + len(r.Value)))
		return
	}
	if s.failed.CompareAndSwap(nil, &err) {
		s.stop()
	}
}

// abortTime bounds the wait for answers that are still to come when a record has failed.
const abortTime = 10 * time.Second

// abort gives up what is not on its way yet.
func (s *sending) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), abortTime)
	defer cancel()
	_ = s.cl.AbortBufferedRecords(ctx) // the first failure is what is told
}

// outcome says how it went. Where it did not go well, it says how much was delivered.
func (s *sending) outcome(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) {
		err = nil // the reason is told below
	}
	if cause := s.failed.Load(); cause != nil {
		err = errors.Join(explain(about(s.topic), *cause), err)
	} else if interrupted(ctx) {
		err = errors.Join(errInterrupted, err)
	}
	r := s.summary()
	tell := fmt.Sprintf("%s (%s) delivered to topic %s", plural(r.Records, "record"), size(r.Bytes), s.topic)
	if err != nil {
		if r.Failed > 0 {
			tell += fmt.Sprintf(", %s not", grouped(r.Failed))
		}
		return fmt.Errorf("%w; %s", err, tell)
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintf(os.Stderr, "%s in %.3g s\n", tell, r.Seconds)
	}
	return nil
}

// piece is some of the input. err, io.EOF at its end, comes with the last one.
type piece struct {
	bytes []byte
	err   error
}

const (
	// pieceBytes is how much is read at once at most, and the memory that records share.
	pieceBytes = 1 << 20
	// leastRead is how much room a read has at least; interactive input comes in small reads that share a piece.
	leastRead = 64 << 10
)

// pieces reads in on a goroutine of its own: a read of a terminal or pipe can not be interrupted, but be left behind.
func pieces(ctx context.Context, in io.Reader) <-chan piece {
	out := make(chan piece, 2)
	go func() {
		defer close(out)
		var room []byte
		for {
			if len(room) < leastRead {
				room = make([]byte, pieceBytes)
			}
			n, err := in.Read(room)
			p := piece{room[:n:n], err}
			room = room[n:]
			select {
			case out <- p:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}
