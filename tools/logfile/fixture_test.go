package logfile

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/producer"
	"github.com/zurau/zurau/engine/record"
)

// fixture is a log directory with one partition, orders-0, of two segments. Offsets 0 to 29 are in batches of three;
// the second segment starts at 15; epoch 1 starts at 18, and the recovery point is there too. The batches 6-8 and 9-11
// are a transaction that was aborted by the marker at 12, a batch of one.
type fixture struct {
	t    *testing.T
	root string
	dir  string
	// positions of the batches in their segments, by base offset
	positions map[int64]int64
}

const (
	secondBase    = 15
	recoveryPoint = 18
	logEnd        = 30
)

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, root: t.TempDir(), positions: map[int64]int64{}}
	f.dir = filepath.Join(f.root, "orders-0")
	must(t, os.Mkdir(f.dir, 0o755))
	state := producer.New()
	f.segment(state, 0, []int64{0, 3, 6, 9, 12, 13})
	f.write("orders-0/00000000000000000015.snapshot", state.Marshal())
	f.segment(state, secondBase, []int64{15, 18, 21, 24, 27})
	f.write("orders-0/00000000000000000030.snapshot", state.Marshal())
	f.write("orders-0/00000000000000000000.txnindex", txnIndexEntry(7, 6, 12, 13))

	var epochs checkpoint.LeaderEpochs
	epochs.Assign(0, 0)
	epochs.Assign(1, recoveryPoint)
	must(t, epochs.Write(fs.OS(), f.dir))
	must(t, checkpoint.WriteTopicID(fs.OS(), f.dir, checkpoint.ID{1, 2, 3}))
	must(t, checkpoint.WriteMeta(fs.OS(), f.root, checkpoint.Meta{ClusterID: "c", NodeID: 1, DirectoryID: checkpoint.ID{9}}, time.Unix(0, 0)))
	f.checkpoint(checkpoint.RecoveryPoints, recoveryPoint)
	f.checkpoint(checkpoint.HighWatermarks, 24)
	return f
}

func (f *fixture) checkpoint(file string, offset int64) {
	must(f.t, checkpoint.WriteOffsets(fs.OS(), filepath.Join(f.root, file), []checkpoint.Offset{{Topic: "orders", Offset: offset}}))
}

// segment writes a segment with an index entry for every second batch.
func (f *fixture) segment(state *producer.State, base int64, bases []int64) {
	var log, index, times []byte
	for i, o := range bases {
		b := f.batch(o, min(3, next(bases, i, base)-o))
		f.positions[o] = int64(len(log))
		if i%2 == 1 {
			index = binary.BigEndian.AppendUint32(index, uint32(b.LastOffset()-base))
			index = binary.BigEndian.AppendUint32(index, uint32(len(log)))
			times = binary.BigEndian.AppendUint64(times, uint64(b.MaxTimestamp()))
			times = binary.BigEndian.AppendUint32(times, uint32(b.LastOffset()-base))
		}
		info := record.Info{LastOffsetDelta: b.LastOffsetDelta(), Count: b.Count(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
			BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(), Transactional: b.IsTransactional(), Control: b.IsControl()}
		if b.IsControl() {
			state.EndTransaction(info, producer.Marker{}, o, b.MaxTimestamp())
		} else {
			state.Update(info, o, b.LastOffset(), b.MaxTimestamp())
		}
		log = append(log, b...)
	}
	name := fmt.Sprintf("orders-0/%020d", base)
	f.write(name+".log", log)
	f.write(name+".index", index)
	f.write(name+".timeindex", times)
}

// next returns where the batch after bases[i] starts.
func next(bases []int64, i int, base int64) int64 {
	switch {
	case i+1 < len(bases):
		return bases[i+1]
	case base == 0:
		return secondBase
	}
	return logEnd
}

// batch makes the batch at an offset.
func (f *fixture) batch(offset, count int64) record.Batch {
	codecs := []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}
	b := record.NewBuilder(codecs[offset/3%5])
	b.BaseOffset = offset
	if offset >= recoveryPoint {
		b.PartitionLeaderEpoch = 1
	} else {
		b.PartitionLeaderEpoch = 0
	}
	if offset == 12 {
		b.Codec, b.Control, b.Transactional = record.None, true, true
		return b.Producer(7, 0, -1).AddEndTxn(1000+offset, record.EndTxn{}).Bytes()
	}
	switch {
	case offset < 6:
		b.Producer(5, 0, int32(offset))
	case offset < 12:
		b.Transactional = true
		b.Producer(7, 0, int32(offset-6))
	default:
		b.Producer(5, 0, int32(offset-7)) // six offsets are producer 7's, and one is the marker's
	}
	for o := offset; o < offset+count; o++ {
		b.Add(1000+o, []byte(fmt.Sprintf("k%d", o)), []byte(fmt.Sprintf("value %d", o)), record.Header{Key: "h", Value: []byte{0, 255}})
	}
	return b.Bytes()
}

func txnIndexEntry(pid, first, last, stable int64) []byte {
	return index.AbortedTxn{ProducerID: pid, FirstOffset: first, LastOffset: last, LastStableOffset: stable}.AppendTo(nil)
}

func (f *fixture) write(name string, b []byte) {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(f.root, name), b, 0o644))
}

func (f *fixture) read(name string) []byte {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.root, name))
	must(f.t, err)
	return b
}

// change rewrites a file.
func (f *fixture) change(name string, with func(b []byte) []byte) {
	f.t.Helper()
	f.write(name, with(f.read(name)))
}

// verify checks the whole directory.
func (f *fixture) verify() (problems []Problem) {
	f.t.Helper()
	v := Verify{Records: true, Report: func(p Problem) {
		if !p.Note() {
			problems = append(problems, p)
		}
	}}
	must(f.t, v.Path(f.root))
	return problems
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
