package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// session is what a short command has: a client, a time, an output.
type session struct {
	ctx context.Context
	cl  *kgo.Client
	out *output
}

func (s session) printf(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// with runs f with a client of the brokers, within the time of --timeout.
func (f *brokerFlags) with(c *cobra.Command, do func(session) error) error {
	ctx, stop := interruptible(c.Context())
	defer stop()
	ctx, cancel := f.inTime(ctx)
	defer cancel()
	cl, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	s := session{ctx, cl, newOutput(c.OutOrStdout())}
	return s.out.done(do(s))
}
