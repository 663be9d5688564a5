package checkpoint

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kafkaFiles returns the checkpoints and other small files of the log directories that Apache Kafka 4.4 wrote, by
// their path in the archive.
func kafkaFiles(t *testing.T) map[string][]byte {
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
			if h.Typeflag == tar.TypeReg && h.Size < 4096 {
				if files[h.Name], err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return files
}

// again decodes content as what the file name says it is and encodes it. known is false for other files.
func again(name string, content []byte) (encoded []byte, known bool, err error) {
	switch base := filepath.Base(name); base {
	case RecoveryPoints, HighWatermarks, LogStarts, CleanerOffsets:
		e, err := parseOffsets(name, content)
		if len(content) == 0 {
			return nil, true, err
		}
		return appendOffsets(nil, e), true, err
	case LeaderEpochsName:
		e, err := parseEpochs(name, content)
		return appendEpochs(nil, e), true, err
	case PartitionMetadataName:
		id, err := parseTopicID(name, string(content))
		return formatTopicID(id), true, err
	case MetaName:
		m, err := parseMeta(name, string(content))
		if err != nil {
			return nil, true, err
		}
		now, err := time.Parse("#"+javaDate, strings.Split(string(content), "\n")[1])
		return formatMeta(m, now), true, err
	case CleanShutdownName:
		return formatCleanShutdown(parseCleanShutdown(content)), true, nil
	}
	return nil, false, nil
}

func TestFilesOfKafkaAreReadAndWrittenToTheSameBytes(t *testing.T) {
	seen := map[string]int{}
	for name, content := range kafkaFiles(t) {
		encoded, known, err := again(name, content)
		if !known {
			continue
		}
		seen[filepath.Base(name)]++
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(encoded, content) {
			t.Errorf("%s:\n%q became\n%q", name, content, encoded)
		}
	}
	for _, name := range []string{RecoveryPoints, HighWatermarks, LogStarts, CleanerOffsets, LeaderEpochsName,
		PartitionMetadataName, MetaName, CleanShutdownName} {
		if seen[name] == 0 {
			t.Errorf("Kafka's directories have no %s", name)
		}
	}
}
