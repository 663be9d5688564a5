package index

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// kafkaFiles returns the files whose names end in one of the suffixes, of the log directories that Apache Kafka 4.4
// wrote, by their path in the archive.
func kafkaFiles(t *testing.T, suffixes ...string) map[string][]byte {
	t.Helper()
	archives, _ := filepath.Glob("../../../shared/kafka/directories/*.tar.gz")
	if len(archives) == 0 {
		t.Skip("no directories of Apache Kafka beside this checkout (../shared/kafka/directories)")
	}
	files := map[string][]byte{}
	for _, name := range archives {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, suffix := range suffixes {
				if strings.HasSuffix(h.Name, suffix) {
					if files[h.Name], err = io.ReadAll(r); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return files
}

// baseOf returns the base offset in the name of a segment's file.
func baseOf(t *testing.T, name string) int64 {
	t.Helper()
	base, err := strconv.ParseInt(filepath.Base(name)[:20], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// put makes a flushed file of content on a new disk.
func put(t testing.TB, name string, content []byte) *fs.Crash {
	t.Helper()
	disk := fs.NewCrash(1)
	f, err := disk.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(content) > 0 {
		if err := f.Write(content, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	disk.Settle()
	return disk
}

// get returns the content of a file.
func get(t testing.TB, disk fs.FS, name string) []byte {
	t.Helper()
	f, err := disk.Open(name, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if err := readFull(f, b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// settle cuts the zeros that Kafka lays ahead in an active index off content. It reports whether there were any.
func settle(content []byte, width int) ([]byte, bool) {
	n := len(content) / width
	for n > 0 && bytes.Equal(content[(n-1)*width:n*width], make([]byte, width)) {
		n--
	}
	return content[:n*width], n*width < len(content)
}

func TestOffsetIndexesOfKafkaAreReadAndWrittenToTheSameBytes(t *testing.T) {
	files := kafkaFiles(t, ".index", ".index.deleted", ".log", ".log.deleted")
	for name, content := range files {
		if strings.Contains(name, ".log") {
			continue
		}
		size := int64(len(files[strings.Replace(name, ".index", ".log", 1)]))
		entries, ahead := settle(content, OffsetWidth)
		if ahead {
			x, err := OpenOffset(put(t, "x", content), "x", baseOf(t, name), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Check(size); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s has zeros at its end, Check says %v", name, err)
			}
		}
		x, err := OpenOffset(put(t, "x", entries), "x", baseOf(t, name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Check(size); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		disk := fs.NewCrash(1)
		again, err := OpenOffset(disk, "y", baseOf(t, name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for e := entries; len(e) > 0; e = e[OffsetWidth:] {
			offset, position, err := x.Lookup(baseOf(t, name) + key(e[:OffsetWidth]))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Append(offset, position); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.Seal(); err != nil {
			t.Fatal(err)
		}
		if got := get(t, disk, "y"); !bytes.Equal(got, entries) {
			t.Errorf("%s: wrote %x, Kafka %x", name, got, entries)
		}
	}
}

func TestTimeIndexesOfKafkaAreReadAndWrittenToTheSameBytes(t *testing.T) {
	for name, content := range kafkaFiles(t, ".timeindex", ".timeindex.deleted") {
		entries, ahead := settle(content, TimeWidth)
		if ahead {
			x, err := OpenTime(put(t, "x", content), "x", baseOf(t, name), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Check(); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s has zeros at its end, Check says %v", name, err)
			}
		}
		x, err := OpenTime(put(t, "x", entries), "x", baseOf(t, name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		disk := fs.NewCrash(1)
		again, err := OpenTime(disk, "y", baseOf(t, name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for e := entries; len(e) > 0; e = e[TimeWidth:] {
			timestamp, offset, err := x.Lookup(key(e[:TimeWidth]))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.MaybeAppend(timestamp, offset); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.Seal(); err != nil {
			t.Fatal(err)
		}
		if got := get(t, disk, "y"); !bytes.Equal(got, entries) {
			t.Errorf("%s: wrote %x, Kafka %x", name, got, entries)
		}
	}
}
