package logfile

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// kafkaDirectories holds log directories that Apache Kafka 4.4 wrote, beside the repository.
const kafkaDirectories = "../../../shared/kafka/directories"

func TestDirectoriesOfApacheKafkaHaveNoProblems(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, name)
			v := Verify{Records: true, Report: func(p Problem) {
				if !p.Note() {
					t.Error(p)
				}
			}}
			must(t, v.Path(dir))
			if v.Summary.Logs < 10 || v.Summary.Records < 2000 {
				t.Errorf("too little was looked at: %v", v.Summary)
			}
		})
	}
}

func TestDirectoriesOfApacheKafkaCanBeDumped(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		t.Run(name, func(t *testing.T) {
			kinds := map[Kind]int{}
			records := 0
			d := Dump{Records: true, Give: func(i Item) error {
				switch i := i.(type) {
				case FileItem:
					kinds[i.Kind]++
				case RecordItem:
					records++
				}
				return nil
			}}
			must(t, d.Path(unpack(t, name)))
			for _, k := range []Kind{Batches, OffsetIndex, TimeIndex, TxnIndex, ProducerSnapshot, OffsetCheckpoint, LeaderEpochs, PartitionMetadata, Meta} {
				if kinds[k] == 0 {
					t.Errorf("no %s", k)
				}
			}
			if records < 2000 {
				t.Errorf("%d records", records)
			}
		})
	}
}

// unpack returns a directory, unpacked.
func unpack(t *testing.T, name string) string {
	f, err := os.Open(filepath.Join(kafkaDirectories, name+".tar.gz"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the directories that Apache Kafka wrote are not beside this repository: %v", err)
	}
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	root := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return filepath.Join(root, name)
		}
		must(t, err)
		path := filepath.Join(root, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		b, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(path, b, 0o644))
	}
}
