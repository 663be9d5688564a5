package producer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// kafkaFiles returns the snapshots and log files of the directories that Apache Kafka 4.4 wrote, by their path in the
// archive.
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
			if e := path.Ext(strings.TrimSuffix(h.Name, ".deleted")); e == ".snapshot" || e == ".log" {
				if files[h.Name], err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return files
}

func isSnapshot(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".deleted"), ".snapshot")
}

func TestSnapshotsOfKafkaAreReadAndWrittenToTheSameBytes(t *testing.T) {
	n := 0
	for name, b := range kafkaFiles(t) {
		if !isSnapshot(name) {
			continue
		}
		n++
		var s State
		if err := s.Unmarshal(b); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := s.Marshal(); !bytes.Equal(got, b) {
			t.Errorf("%s:\n%x became\n%x", name, b, got)
		}
	}
	t.Logf("%d snapshots", n)
}

// TestReplayingALogOfKafkaGivesTheStateOfItsSnapshot takes each snapshot that Kafka wrote, replays the log up to its
// offset and compares the producers in it. Kafka's has fewer: those whose records were of 2023 expired at its start.
func TestReplayingALogOfKafkaGivesTheStateOfItsSnapshot(t *testing.T) {
	files := kafkaFiles(t)
	compared := 0
	for name, b := range files {
		if !strings.HasSuffix(name, ".snapshot") { // the records before a .deleted one are compacted away
			continue
		}
		end, err := strconv.ParseInt(path.Base(name)[:20], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var want State
		if err := want.Unmarshal(b); err != nil {
			t.Fatal(err)
		}
		got := replay(t, files, path.Dir(name), end).Producers()
		for _, p := range want.Producers() {
			compared++
			if !slices.Contains(got, p) {
				t.Errorf("%s: Kafka has %+v, the replay of its log %+v", name, p, got)
			}
		}
	}
	if compared < 50 {
		t.Errorf("compared only %d producers", compared)
	}
}

// replay returns the state of the log in dir at the offset end.
func replay(t *testing.T, files map[string][]byte, dir string, end int64) *State {
	t.Helper()
	var names []string
	for name := range files {
		if path.Dir(name) == dir && strings.HasSuffix(name, ".log") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	s := New()
	for _, name := range names {
		for rest := files[name]; len(rest) > 0; {
			b, next, err := record.Next(rest)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rest = next
			if b.LastOffset() < end {
				apply(s, b)
			}
		}
	}
	return s
}

func apply(s *State, b record.Batch) {
	in := record.Info{ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
		LastSequence: b.LastSequence(), LastOffsetDelta: b.LastOffsetDelta(), Count: b.Count(),
		Transactional: b.IsTransactional(), Control: b.IsControl()}
	if !b.IsControl() {
		s.Update(in, b.BaseOffset(), b.LastOffset(), b.MaxTimestamp())
		return
	}
	if m, ok := ParseMarker(control(b)); ok {
		s.EndTransaction(in, m, b.BaseOffset(), b.MaxTimestamp())
	}
}

// control returns key and value of the only record of a control batch: length, attributes, timestamp delta, offset
// delta, key, value.
func control(b record.Batch) (key, value []byte) {
	r := b[record.HeaderSize:]
	varint := func() int {
		v, n := binary.Varint(r)
		r = r[n:]
		return int(v)
	}
	varint()
	r = r[1:]
	varint()
	varint()
	n := varint()
	key, r = r[:n], r[n:]
	n = varint()
	return key, r[:n]
}
