package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "module github.com/zurau/zurau"

// tools are the programs of a comparison, in a scratch folder that goes with it.
type tools struct {
	root    string // the repository
	scratch string
	script  string // Kafka's start script
	libs    string // Kafka's jars
	zurau   string
	load    string
	limit   string
}

// prepare finds the repository and ../shared and builds what is needed. On an error nothing is left behind.
func prepare(ctx context.Context, o *options) (t *tools, err error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	shared := o.shared
	if shared == "" {
		shared = filepath.Join(root, "..", "shared")
	}
	oracle := filepath.Join(shared, "oracle")
	for _, need := range []string{"kafka", "load/main.go", "limit/main.go"} {
		if _, err := os.Stat(filepath.Join(oracle, need)); err != nil {
			return nil, fmt.Errorf("%s/%s is not there: the folder with Kafka's start script and the load and limit tools is "+
				"looked for in ../shared beside the repository; --shared DIR says where else it is", oracle, need)
		}
	}
	scratch, err := os.MkdirTemp(o.dir, "zurau-versus-")
	if err != nil {
		return nil, err
	}
	t = &tools{root: root, scratch: scratch, script: filepath.Join(oracle, "kafka"), zurau: o.zurau}
	if err := t.build(ctx, oracle, o.only); err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

func (t *tools) remove() error { return os.RemoveAll(t.scratch) }

func (t *tools) build(ctx context.Context, oracle, only string) (err error) {
	progress("building the load and limit tools")
	if t.load, err = t.copyAndBuild(ctx, filepath.Join(oracle, "load")); err != nil {
		return err
	}
	if t.limit, err = t.copyAndBuild(ctx, filepath.Join(oracle, "limit")); err != nil {
		return err
	}
	if t.zurau == "" && only != kafkaName {
		progress("building zurau")
		t.zurau = filepath.Join(t.scratch, "zurau")
		if _, err := output(ctx, t.root, "go", "build", "-o", t.zurau, "./tools/zurau"); err != nil {
			return err
		}
	}
	if only != zurauName {
		progress("looking for Kafka's jars (the first time they are fetched)")
		out, err := output(ctx, t.root, t.script, "install")
		if err != nil {
			return err
		}
		if t.libs = strings.TrimSpace(out); t.libs == "" {
			t.libs = kafkaLibs()
		}
	}
	return nil
}

// kafkaLibs is where the start script keeps the jars.
func kafkaLibs() string {
	if home := os.Getenv("ORACLE_HOME"); home != "" {
		return filepath.Join(home, "libs")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "zurau-oracle", "libs")
}

// copyAndBuild builds a Go program from a copy of its folder, because its go.mod may need completing.
func (t *tools) copyAndBuild(ctx context.Context, from string) (string, error) {
	name := filepath.Base(from)
	dir := filepath.Join(t.scratch, "src-"+name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return "", err
	}
	bin := filepath.Join(t.scratch, name)
	_, err := output(ctx, dir, "go", "build", "-mod=mod", "-o", bin, ".")
	return bin, err
}

// repository returns the root of the repository that the working directory is in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		b, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), module+"\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in zurau's repository", dir)
		}
	}
}

// output runs a program to its end and returns its standard output. The error has its standard error.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var out, problems bytes.Buffer
	c := child(ctx, name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &problems
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return out.String(), nil
}

// child is a command in a process group of its own, so that a terminal's interrupt reaches this program alone, which then
// stops its children in order. It is killed with its group when ctx ends, or this program is killed.
func child(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.SysProcAttr = ownGroup()
	c.Cancel = func() error { return killGroup(c.Process.Pid) }
	return c
}
