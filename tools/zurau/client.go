package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reachTime is how long a command tries to reach the first broker: longer than a lost packet needs, short enough not to
// be taken for a command that hangs.
const reachTime = 5 * time.Second

// dial returns a client once one of the brokers has answered. A client of franz-go alone would go on trying for a long
// time without saying that nobody is there.
func (f *brokerFlags) dial(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	seeds, err := f.seeds()
	if err != nil {
		return nil, err
	}
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID("zurau"),
		kgo.SoftwareNameAndVersion("zurau", "dev"),
		kgo.DialTimeout(reachTime),
		kgo.RetryTimeout(f.timeout),
		kgo.DisableClientMetrics(),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, cl, seeds); err != nil {
		cl.Close()
		return nil, err
	}
	return cl, nil
}

// reach asks each broker once, until one answers.
func reach(ctx context.Context, cl *kgo.Client, seeds []string) error {
	var errs []error
	for i, b := range cl.SeedBrokers() {
		rctx, cancel := context.WithTimeout(ctx, reachTime)
		req := kmsg.NewMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		_, err := b.Request(rctx, &req)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = fmt.Errorf("no answer within %v", reachTime)
		}
		errs = append(errs, fmt.Errorf("no broker at %s: %w", seeds[i], err))
	}
	return errors.Join(errs...)
}

// kafkaError is an answer with an error code: what it is about, and Kafka's name and words for it.
type kafkaError struct {
	about  string
	code   int16
	detail string // the broker's own words, where it sent some
}

func (e *kafkaError) Error() string {
	name, words := fmt.Sprintf("error %d", e.code), e.detail
	if k := kerr.TypedErrorForCode(e.code); k != nil {
		name = k.Message
		if words == "" {
			words = k.Description
		}
	}
	s := name
	if words = strings.TrimSpace(words); words != "" {
		s += ": " + words
	}
	if e.about != "" {
		s = e.about + ": " + s
	}
	return s
}

// Unwrap lets errors.Is find franz-go's error of that code.
func (e *kafkaError) Unwrap() error { return kerr.ErrorForCode(e.code) }

// answered returns the error of an answer, nil for code 0.
func answered(about string, code int16, detail *string) error {
	if code == 0 {
		return nil
	}
	e := &kafkaError{about: about, code: code}
	if detail != nil {
		e.detail = *detail
	}
	return e
}

// explain says what an error of the client is about. Errors of Kafka get the form of a kafkaError.
func explain(about string, err error) error {
	var k *kerr.Error
	var own *kafkaError
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case errors.As(err, &k):
		return &kafkaError{about: about, code: k.Code}
	case about == "":
		return err
	}
	return fmt.Errorf("%s: %w", about, err)
}

// inTime returns a context for requests that must be answered within the time of --timeout.
func (f *brokerFlags) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("no answer within %v", f.timeout))
}

// requestMs is --timeout as requests carry it.
func (f *brokerFlags) requestMs() int32 { return int32(min(f.timeout.Milliseconds(), 1<<31-1)) }

// topicMetadata asks for topics; without names, for all. Topics that do not exist are not created; they come back
// with their error code.
func topicMetadata(ctx context.Context, cl *kgo.Client, names ...string) ([]kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewMetadataRequest()
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, explain("", cause(ctx, err))
	}
	return resp.Topics, nil
}

// cause returns why ctx ended, where that is what err says.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
