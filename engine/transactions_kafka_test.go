package engine

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
	"github.com/zurau/zurau/tests/kafkadirs"
)

// told is what the text says of a partition.
type told struct {
	start, end, stable int64
	records            [2][]string // by isolation level
}

func kafkaText(t *testing.T, name string) map[Name]*told {
	t.Helper()
	all := map[Name]*told{}
	var topic string
	lines := bufio.NewScanner(kafkadirs.Open(t, name+".txt.gz"))
	for lines.Scan() {
		line := lines.Text()
		switch f := strings.Fields(line); f[0] {
		case "topic":
			topic = f[1]
		case "partition":
			var p int32
			var x told
			_, err := fmt.Sscanf(line, "partition %d start %d end %d stable %d", &p, &x.start, &x.end, &x.stable)
			must(t, err)
			all[Name{topic, p}] = &x
		case "{0}", "{1}":
			var level, p int32
			_, err := fmt.Sscanf(line, "{%d} %d", &level, &p)
			must(t, err)
			x := all[Name{topic, p}]
			x.records[level] = append(x.records[level], line)
		}
	}
	must(t, lines.Err())
	return all
}

// lineOf writes a record as the text does.
func lineOf(level int, n Name, b record.Batch, r record.Record) string {
	return fmt.Sprintf("{%d} %d %d e%d %d %s %08x %d hdr=%d ctl=%v txn=%v codec=%d pid-epoch=%d", level, n.Partition, r.Offset,
		b.PartitionLeaderEpoch(), r.Timestamp, fmt.Sprintf("%q", r.Key), crc32.ChecksumIEEE(r.Value), len(r.Value), len(r.Headers),
		b.IsControl(), b.IsTransactional(), b.Codec(), b.ProducerEpoch())
}

// served lists what a client of an isolation level reads of a log. Of committed records it leaves out the aborted ones.
func served(t *testing.T, l *Log, level, maxBytes int) (lines []string) {
	t.Helper()
	for at := l.LogStartOffset(); ; {
		c, err := readAt(l, level, at, maxBytes)
		must(t, err)
		b, err := c.Bytes()
		must(t, err)
		c.Release()
		if len(b) == 0 {
			return lines
		}
		kept := keeper{aborted: c.Aborted}
		for len(b) > 0 {
			batch, rest, err := record.Next(b)
			if err != nil {
				break // cut off by the limit
			}
			b = rest
			if kept.keeps(batch) {
				for r, err := range batch.Records(1 << 20) {
					must(t, err)
					if r.Offset >= at {
						lines = append(lines, lineOf(level, l.Name(), batch, r))
					}
				}
			}
			at = batch.LastOffset() + 1
		}
	}
}

func readAt(l *Log, level int, at int64, maxBytes int) (Committed, error) {
	if level == 1 {
		return l.ReadCommitted(at, maxBytes, true)
	}
	r, err := l.Read(at, maxBytes, true)
	return Committed{Range: r}, err
}

// TestWhatKafkaSaysOfItsDirectoriesIsServed holds every record, and for every size of answer, against the text.
func TestWhatKafkaSaysOfItsDirectoriesIsServed(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		text := kafkaText(t, name)
		e := open(t, Options{Dir: kafkadirs.Unpack(t, name)})
		for _, n := range slices.SortedFunc(maps.Keys(text), func(a, b Name) int { return strings.Compare(a.String(), b.String()) }) {
			x := text[n]
			l, ok := e.Log(n)
			if !ok {
				t.Errorf("%s: no log of %s", name, n)
				continue
			}
			if l.LogStartOffset() != x.start || l.LogEndOffset() != x.end || l.LastStableOffset() != x.stable {
				t.Errorf("%s: %s is [%d, %d), stable %d; want [%d, %d), %d", name, n, l.LogStartOffset(), l.LogEndOffset(), l.LastStableOffset(), x.start, x.end, x.stable)
			}
			for level := range 2 {
				for _, maxBytes := range []int{1, 1000, 5000, 1 << 20} {
					if got := served(t, l, level, maxBytes); !slices.Equal(got, x.records[level]) {
						t.Fatalf("%s: %s, isolation level %d, %d bytes at a time: %s", name, n, level, maxBytes, firstDifference(got, x.records[level]))
					}
				}
			}
		}
		must(t, e.Close())
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("record %d is %s, want %s", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d records, want %d", len(got), len(want))
}

// TestTransactionIndexesOfKafkaAreMadeAgainToTheSameBytes takes Kafka's indexes away, or spoils them, and compares what a
// recovery makes of the log with what Kafka wrote.
func TestTransactionIndexesOfKafkaAreMadeAgainToTheSameBytes(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		dir := kafkadirs.Unpack(t, name)
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"+segment.TxnSuffix))
		must(t, err)
		if len(files) != 2 {
			t.Fatalf("%d transaction indexes", len(files))
		}
		want := map[string][]byte{}
		for _, f := range files {
			want[f], err = os.ReadFile(f)
			must(t, err)
		}
		for _, spoil := range []func(string) error{
			func(f string) error { return os.Truncate(f, int64(len(want[f])-1)) },
			func(f string) error { return os.WriteFile(f, []byte("what is this"), 0o644) },
			func(f string) error { // as before the first flush: nothing is known of what was flushed
				for _, mark := range []string{".kafka_cleanshutdown", "recovery-point-offset-checkpoint", recoveryName} {
					if err := os.Remove(filepath.Join(dir, mark)); err != nil && !errors.Is(err, os.ErrNotExist) {
						return err
					}
				}
				return os.Remove(f)
			},
		} {
			for _, f := range files {
				must(t, spoil(f))
			}
			must(t, open(t, Options{Dir: dir}).Close())
			for _, f := range files {
				got, err := os.ReadFile(f)
				if err != nil || !slices.Equal(got, want[f]) {
					t.Errorf("%s: %v, %s", f, err, differing(got, want[f]))
				}
			}
		}
	}
}

func differing(got, want []byte) string {
	g, err := index.ParseTxns(got, 0)
	w, _ := index.ParseTxns(want, 0)
	return fmt.Sprintf("%+v (%v), want %+v", g, err, w)
}

// TestProducersOfKafkaAreWhatItsSnapshotsSay compares the producers that the engine knows after an orderly stop of Kafka with
// the snapshot that this wrote last.
func TestProducersOfKafkaAreWhatItsSnapshotsSay(t *testing.T) {
	dir := kafkadirs.Unpack(t, "clean")
	want := map[Name][]producer.Producer{}
	for n, x := range kafkaText(t, "clean") {
		b, err := os.ReadFile(segment.Name(filepath.Join(dir, n.String()), x.end, segment.SnapshotSuffix))
		must(t, err)
		var s producer.State
		must(t, s.Unmarshal(b))
		want[n] = s.Producers()
	}
	e := open(t, Options{Dir: dir, ProducerIDExpiration: 1 << 60})
	defer e.Close()
	marked := 0
	for n, w := range want {
		l, _ := e.Log(n)
		if got := l.Producers(); !slices.Equal(got, w) {
			t.Errorf("%s: producers %+v, want %+v", n, got, w)
		}
		for _, p := range w {
			if p.CoordinatorEpoch >= 0 {
				marked++
			}
		}
	}
	if marked == 0 {
		t.Error("no producer with a marker: the test is of nothing")
	}
}

// keeper decides as a consumer of committed records does which batches it shows: all of a log that has no list of aborted
// transactions.
type keeper struct {
	aborted []AbortedTxn
	gone    map[int64]bool
	sorted  bool
}

func (k *keeper) keeps(b record.Batch) bool {
	if !k.sorted {
		slices.SortStableFunc(k.aborted, func(a, b AbortedTxn) int { return int(a.FirstOffset - b.FirstOffset) })
		k.sorted, k.gone = true, map[int64]bool{}
	}
	for len(k.aborted) > 0 && k.aborted[0].FirstOffset <= b.LastOffset() {
		k.gone[k.aborted[0].ProducerID], k.aborted = true, k.aborted[1:]
	}
	if b.IsControl() {
		if m, ok := b.EndTxn(); ok && !m.Commit {
			delete(k.gone, b.ProducerID())
		}
		return true
	}
	return !b.IsTransactional() || !k.gone[b.ProducerID()]
}
