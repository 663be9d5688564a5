package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

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

func (e usageError) Unwrap() error { return e.error }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errReported is a failure whose reasons have been printed already: only the exit status is left to tell it.
var errReported = errors.New("failed, as was said")

// run runs a command line and returns the exit status.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	called, err := root.ExecuteC()
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "zurau: %v\nSee '%s --help'.\n", err, called.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "zurau: %v\n", err)
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := group("zurau", "A Kafka-wire-compatible commit log",
		serveCommand(), topicCommand(), produceCommand(), consumeCommand(), logCommand(), benchCommand())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(badFlag)
	return root
}

// group returns a command that only holds others: alone it prints its help, and a word that names none is bad usage.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				words := strings.TrimPrefix(named(c)+": ", "zurau: ") // the program's own name is said already
				return usagef("%sunknown command %q%s", words, args[0], suggestion(c, args[0]))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

func suggestion(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(word); len(near) > 0 {
		return ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// argsBetween checks the number of arguments.
func argsBetween(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) >= least && len(args) <= most:
			return nil
		case len(args) < least:
			return usagef("%s: an argument is missing: %s", named(c), c.UseLine())
		case most == 0:
			return usagef("%s takes no arguments, not %q", named(c), args[0])
		}
		return usagef("%s takes at most %d arguments: what is %q?", named(c), most, args[most])
	}
}

// named returns the words of a command after the program's own: "topic create".
func named(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "zurau ") }
