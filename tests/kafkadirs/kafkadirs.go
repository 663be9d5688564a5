// Package kafkadirs hands tests the log directories that Apache Kafka 4.4 wrote, with all that a client reads of them as text.
// They lie beside the repository, in ../shared/kafka/directories; a test that asks for one where they are not is skipped.
package kafkadirs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Dir returns where they lie.
func Dir(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	check(t, err)
	for ; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "..", "shared", "kafka", "directories")
		}
		if at == filepath.Dir(at) {
			t.Fatal("there is no go.mod above the test's folder")
		}
	}
}

// Open returns the content of one of the files, which are compressed by gzip.
func Open(t testing.TB, name string) io.Reader {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Dir(t), name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the directories that Apache Kafka wrote are not beside this repository: %v", err)
	}
	check(t, err)
	z, err := gzip.NewReader(bytes.NewReader(b))
	check(t, err)
	return z
}

// Unpack makes a copy of a directory for the test, and returns its name.
func Unpack(t testing.TB, name string) string {
	t.Helper()
	root := t.TempDir()
	for r := tar.NewReader(Open(t, name+".tar.gz")); ; {
		h, err := r.Next()
		if err == io.EOF {
			return filepath.Join(root, name)
		}
		check(t, err)
		path := filepath.Join(root, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			check(t, os.MkdirAll(path, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		b, err := io.ReadAll(r)
		check(t, err)
		check(t, os.WriteFile(path, b, 0o644))
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
