package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// plotProgram is the program that draws, where it is installed.
const plotProgram = "zurau-plot"

func benchPlotCommand() *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "plot FILE.jsonl...",
		Short: "Draw the results of earlier runs, as SVG and PNG",
		Long: `Draw what files of results hold, a set for each profile: throughput against latency, CPU for each GB, requests a second over the
number of files, of requests in flight and of bytes, and latency over its percentiles. A chart that has nothing to show is left out.

The drawing is done by a program of its own, so that brokers do not carry fonts: ` + plotProgram + `, beside this program or on the path; or, within
the repository, benchmarks/charts, which is built for it (go build -C benchmarks/charts -o ` + plotProgram + ` . builds it to stay).`,
		Args: atLeastOneResult,
		RunE: func(c *cobra.Command, args []string) error { return benchPlot(c, dir, args) },
	}
	c.Flags().StringVar(&dir, "out", "benchmarks/plots", "`DIR` for the files")
	return c
}

func benchPlot(c *cobra.Command, dir string, files []string) error {
	if err := exist(files); err != nil {
		return err
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	args := []string{"-out", dir}
	for _, name := range append(files, dir) {
		abs, err := filepath.Abs(name) // the program may run in another folder
		if err != nil {
			return err
		}
		args = append(args, abs)
	}
	args[1], args = args[len(args)-1], args[:len(args)-1]
	p, err := plotter(ctx, args)
	if err != nil {
		return err
	}
	p.Stdout, p.Stderr = c.OutOrStdout(), os.Stderr
	var exit *exec.ExitError
	if err := p.Run(); errors.As(err, &exit) {
		return errReported
	} else if err != nil {
		return fmt.Errorf("%s: %w", p.Path, err)
	}
	return nil
}

// plotter returns the program that draws: beside this one, on the path, or the repository's by go run.
func plotter(ctx context.Context, args []string) (*exec.Cmd, error) {
	if path := installed(plotProgram); path != "" {
		return exec.CommandContext(ctx, path, args...), nil
	}
	root, err := repository()
	if err != nil {
		return nil, fmt.Errorf("no %s beside this program or on the path, and no repository to build it from: %w", plotProgram, err)
	}
	// -mod=mod: its go.mod may need completing when the main module has changed.
	run := []string{"run", "-C", filepath.Join(root, "benchmarks", "charts"), "-mod=mod", "."}
	return exec.CommandContext(ctx, "go", append(run, args...)...), nil
}

// installed returns where a program is: beside this one or on the path; or nothing.
func installed(name string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// repository returns the folder of zurau's repository that the working folder is in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		b, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module github.com/zurau/zurau\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in it", dir)
		}
	}
}
