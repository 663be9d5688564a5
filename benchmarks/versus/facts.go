package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zurau/zurau/benchmarks/machine"
)

// needMB is what a trial of a fast broker may write before it is removed.
const needMB = 60 << 10

func facts(ctx context.Context, t *tools, o *options) *machine.Facts {
	m := machine.Of(t.scratch)
	m.Heap, m.Kafka, m.Zurau, m.Quick = os.Getenv("KAFKA_HEAP"), kafkaVersion(t.libs), revision(ctx, t.root), o.quick
	if m.Heap == "" {
		m.Heap = "1g"
	}
	if o.zurau != "" {
		m.Zurau = "the binary given by --zurau"
	}
	if out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput(); err == nil {
		m.Java, _, _ = strings.Cut(string(out), "\n")
	}
	return m
}

// kafkaVersion reads the version off the jars.
func kafkaVersion(libs string) string {
	jars, err := filepath.Glob(filepath.Join(libs, "kafka-clients-[0-9]*.jar"))
	if err != nil || len(jars) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "kafka-clients-"), ".jar")
}

// revision names the commit of the repository.
func revision(ctx context.Context, root string) string {
	out, err := output(ctx, root, "git", "describe", "--always", "--dirty")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(out)
}

// number reads what a tool printed as a number; 0 for anything else.
func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return f
}
