package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// giouringProgram measures files by giouring's rings, where it is installed.
const giouringProgram = "zurau-giouring"

// giouring returns the program: beside this one, on the path, or built from the repository into the cache of the user. It is not in this
// one since giouring links only with a flag of the linker.
func giouring(ctx context.Context) (string, error) {
	if path := installed(giouringProgram); path != "" {
		return path, nil
	}
	root, err := repository()
	if err != nil {
		return "", fmt.Errorf("no %s beside this program or on the path, and no repository to build it from: %w", giouringProgram, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "zurau", giouringProgram)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "zurau: building", giouringProgram)
	c := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "benchmarks", "giouring"), "-mod=mod", "-ldflags=-checklinkname=0", "-o", path, ".")
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", c, err, said)
	}
	return path, nil
}
