package engine

import (
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// A producer may have five batches in flight when the broker is killed, and sends them all again. The snapshot that a
// roll writes holds the last batch of each producer only: the others come from the log.
func TestARetryOfAnyBatchInFlightIsKnownAfterAKillBehindARoll(t *testing.T) {
	disk := fs.NewCrash(1)
	opt := Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1}
	e := open(t, opt)
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{FlushMessages: 1, SegmentBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	batch := func(sequence int32) *record.Prepared {
		raw := record.NewBuilder(record.None).Producer(7, 0, sequence).Add(1700000000000, nil, make([]byte, 100)).Bytes()
		p := new(record.Prepared)
		if err := p.Prepare(raw, record.DefaultRules(1700000000000)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	n := int32(0)
	for ; l.Segments() < 2; n++ {
		appendWait(t, l, batch(n))
	}
	opt.FS = disk.Clone(fs.KeepAll)
	again := open(t, opt)
	l, _ = again.Log(Name{"t", 0})
	for sequence := n - 5; sequence < n; sequence++ {
		if a := appendWait(t, l, batch(sequence)); !a.Duplicate || a.BaseOffset != int64(sequence) {
			t.Errorf("the retry of sequence %d of %d: %+v", sequence, n, a)
		}
	}
	for _, e := range []*Engine{e, again} {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
