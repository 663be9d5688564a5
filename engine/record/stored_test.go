package record

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// stored is where two log directories lie that Apache Kafka 4.4 wrote, beside the repository.
const stored = "../../../shared/kafka/directories"

func openGzip(t *testing.T, name string) io.Reader {
	f, err := os.Open(filepath.Join(stored, name))
	if err != nil {
		t.Skipf("Kafka's directories are not beside the repository: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// segments returns the log files of an archive by partition folder, in the order of their offsets.
func segments(t *testing.T, name string) map[string][][]byte {
	files := map[string][]byte{}
	for tr := tar.NewReader(openGzip(t, name)); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Ext(h.Name) == ".log" {
			if files[h.Name], err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
	}
	var names []string
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	out := map[string][][]byte{}
	for _, n := range names {
		dir := path.Base(path.Dir(n))
		out[dir] = append(out[dir], files[n])
	}
	return out
}

// served returns what Kafka serves of a directory to read_uncommitted consumers: a line for each record, by partition
// folder and offset.
func served(t *testing.T, name string) map[string]map[int64]string {
	out := map[string]map[int64]string{}
	topic := ""
	for s := bufio.NewScanner(openGzip(t, name)); s.Scan(); {
		line := s.Text()
		if rest, ok := strings.CutPrefix(line, "topic "); ok {
			topic, _, _ = strings.Cut(rest, " ")
		}
		rest, ok := strings.CutPrefix(line, "{0} ")
		if !ok {
			continue
		}
		var partition int
		var offset int64
		if _, err := fmt.Sscan(rest, &partition, &offset); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		dir := fmt.Sprintf("%s-%d", topic, partition)
		if out[dir] == nil {
			out[dir] = map[int64]string{}
		}
		rest = rest[:strings.Index(rest, " pid-epoch=")]
		out[dir][offset] = rest[strings.Index(rest, " ")+1:]
	}
	return out
}

// line is a record as the listings show it.
func line(b Batch, r Record) string {
	return fmt.Sprintf("%d e%d %d %q %08x %d hdr=%d ctl=%v txn=%v codec=%d", r.Offset, b.PartitionLeaderEpoch(), r.Timestamp,
		r.Key, crc32.ChecksumIEEE(r.Value), len(r.Value), len(r.Headers), b.IsControl(), b.IsTransactional(), b.Codec())
}

func TestEveryRecordThatKafkaStoredReadsAsKafkaServesIt(t *testing.T) {
	for _, name := range []string{"killed", "clean"} {
		t.Run(name, func(t *testing.T) {
			want := served(t, name+".txt.gz")
			seen := [5]int{}
			for dir, logs := range segments(t, name+".tar.gz") {
				for _, log := range logs {
					for rest := log; len(rest) > 0; {
						b, r, err := Next(rest)
						if err != nil {
							t.Fatalf("%s at %d: %v", dir, len(log)-len(rest), err)
						}
						rest = r
						if err := b.Check(); err != nil {
							t.Fatalf("%s at offset %d: %v", dir, b.BaseOffset(), err)
						}
						seen[b.Codec()]++
						for _, r := range all(t, b) {
							line := line(b, r)
							if w, ok := want[dir][r.Offset]; ok && w != line {
								t.Fatalf("%s: Kafka serves\n%s, read\n%s", dir, w, line)
							}
							delete(want[dir], r.Offset)
						}
						checkAgain(t, b)
					}
				}
			}
			for dir, left := range want {
				if len(left) > 0 {
					t.Errorf("%s: %d records not found", dir, len(left))
				}
			}
			if seen[None] == 0 || seen[Gzip] == 0 {
				t.Errorf("batches by codec: %v", seen)
			}
		})
	}
}

// checkAgain takes a stored batch through Prepare as a replica would, and as if a client sent it.
func checkAgain(t *testing.T, b Batch) {
	var p Prepared
	if err := p.Prepare(b, Rules{Origin: Replication}); err != nil {
		t.Fatal(err)
	}
	checkPrepared(t, &p)
	if b.IsControl() || b.HasDeleteHorizon() || b.Count() != b.LastOffsetDelta()+1 {
		return
	}
	for _, c := range append(codecs, Producer) {
		sent := append(Batch(nil), b...)
		sent.SetBaseOffset(0)
		r := clientRules()
		r.Compression, r.TimestampAfterMaxMs = c, 1<<40
		if err := p.Prepare(sent, r); err != nil {
			t.Fatalf("offset %d to %v: %v", b.BaseOffset(), c, err)
		}
		checkPrepared(t, &p)
		out := p.Batch(0)
		out.SetBaseOffset(b.BaseOffset())
		was, is := all(t, b), all(t, out)
		for i := range was {
			if fmt.Sprint(was[i]) != fmt.Sprint(is[i]) {
				t.Fatalf("offset %d to %v: %v became %v", b.BaseOffset(), c, was[i], is[i])
			}
		}
	}
}

func TestMarkersThatKafkaWroteSayHowTransactionsEnded(t *testing.T) {
	commits, aborts := 0, 0
	for dir, logs := range segments(t, "clean.tar.gz") {
		for _, log := range logs {
			for rest := log; len(rest) > 0 && strings.HasPrefix(dir, "t-txn-"); {
				b, r, err := Next(rest)
				if err != nil {
					t.Fatal(err)
				}
				rest = r
				m, ok := b.EndTxn()
				if ok != b.IsControl() {
					t.Fatalf("offset %d: control %v, marker %v", b.BaseOffset(), b.IsControl(), ok)
				}
				if ok && m.Commit {
					commits++
				} else if ok {
					aborts++
				}
			}
		}
	}
	if commits == 0 || aborts == 0 || commits < aborts {
		t.Fatalf("%d commits, %d aborts; a third of the transactions was aborted", commits, aborts)
	}
}
