// Command zurau is a Kafka-wire-compatible commit log: the broker and the tools for it. See zurau --help.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// Exit statuses: 0 done, 1 failed, 2 called wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error of how a command was called.
type usageError struct{ error }

// run runs a command line and returns the exit status.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "zurau: %v\nSee 'zurau --help'.\n", err)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "zurau: %v\n", err)
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "zurau",
		Short:         "A Kafka-wire-compatible commit log",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          func(_ *cobra.Command, args []string) error { return unknownCommand(args) },
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(serveCommand())
	return root
}

func unknownCommand(args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command %q", args[0])}
	}
	return nil
}

// argsBetween checks the number of arguments.
func argsBetween(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("%s takes %d to %d arguments, not %d", c.CommandPath(), least, most, len(args))}
		}
		return nil
	}
}
