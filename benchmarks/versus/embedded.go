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
	bin, err := buildEmbedded(ctx, filepath.Join(root, "benchmarks", "versus", "embedded"), scratch)
	if err != nil {
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

// buildEmbedded builds the program with a copy of its go.mod, which may need completing when the main module has changed.
func buildEmbedded(ctx context.Context, dir, scratch string) (string, error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(scratch, name), b, 0o644); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(scratch, "embedded")
	_, err := output(ctx, dir, "go", "build", "-modfile", filepath.Join(scratch, "go.mod"), "-mod=mod", "-o", bin, ".")
	return bin, err
}
