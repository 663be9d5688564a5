package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// embedded builds the program of benchmarks/versus/embedded, a module of its own, and runs it with the arguments.
func embedded(args []string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx = untilOrphaned(ctx)
	root, err := repository()
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "zurau-versus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	progress("building the stores that zurau's engine is compared with (the first time they are fetched)")
	bin := filepath.Join(scratch, "embedded")
	if _, err := output(ctx, filepath.Join(root, "benchmarks", "versus", "embedded"), "go", "build", "-o", bin, "."); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, bin, args...)
	c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, ownGroup()
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it stops its trials in order
	c.WaitDelay = stopTime
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.As(err, &exit) && exit.ExitCode() == 2:
		return usageError{errors.New("embedded: see above")}
	case errors.As(err, &exit):
		return fmt.Errorf("embedded: %w", err)
	}
	return err
}
