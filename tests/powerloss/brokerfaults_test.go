package powerloss

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// A pairOfDisks is a broker with a log directory on each of two disks, and one sync topic with a partition in each. The second disk is bad.
type pairOfDisks struct {
	*broker.Broker
	good, bad *rig.Machine
	a, b      string
	inA, inB  int32
	c         client
	acked     map[int32][]batchID
	next      batchID
}

func newPairOfDisks(t *testing.T, k rig.Kind, fs, writer string) *pairOfDisks {
	t.Helper()
	d := &pairOfDisks{good: rig.New(t, rig.Shutdown, fs), bad: rig.New(t, k, fs), acked: map[int32][]batchID{}}
	d.a, d.b = filepath.Join(d.good.Dir, "data"), filepath.Join(d.bad.Dir, "data")
	d.Broker = broker.Start(t, broker.Options{Dir: d.a + "," + d.b, Set: []string{"metadata.log.dir=" + d.a, "zurau.reserve.bytes=1048576",
		"zurau.stage.bytes=4194304", "zurau.zero.ahead.bytes=8388608"}})
	d.dial(t)
	var err error
	d.inA, d.inB, err = d.c.inEach("t", d.a, d.b, "flush.messages", "1", "segment.bytes", "1048576", "zurau.writer", writer)
	must(t, err)
	return d
}

func (d *pairOfDisks) dial(t *testing.T) {
	t.Helper()
	var err error
	d.c, err = dial(d.Addr)
	must(t, err)
	t.Cleanup(func() { d.c.Close() })
}

// produce appends the next batch, and notes it where it is acknowledged.
func (d *pairOfDisks) produce(partition int32) error {
	d.next++
	_, err := d.c.produce("t", partition, d.next.build("t", 60<<10))
	if err == nil {
		d.acked[partition] = append(d.acked[partition], d.next)
	}
	return err
}

func (d *pairOfDisks) produceBoth(t *testing.T, n int) {
	t.Helper()
	for range n {
		must(t, errors.Join(d.produce(d.inA), d.produce(d.inB)))
	}
}

// check reads a partition: what was acknowledged is there, in order, and nothing that was not sent.
func (d *pairOfDisks) check(t *testing.T, partition int32) {
	t.Helper()
	end, err := d.c.offset("t", partition, latest)
	must(t, err)
	left := d.acked[partition]
	must(t, d.c.eachBatch("t", partition, 0, end, func(b record.Batch) error {
		id, err := idOf("t", 60<<10, b)
		if len(left) > 0 && id == left[0] {
			left = left[1:]
		}
		return err
	}))
	if len(left) > 0 {
		t.Errorf("partition %d: acknowledged batch %d, and %d behind it, are not in their places", partition, left[0], len(left)-1)
	}
}

// wantOffline looks whether the bad directory, and no other, is offline, and says why.
func (d *pairOfDisks) wantOffline(t *testing.T) {
	t.Helper()
	codes, _, err := d.c.dirs()
	must(t, err)
	if codes[d.a] != 0 || codes[d.b] != kerr.KafkaStorageError.Code {
		t.Errorf("codes of the directories: %v", codes)
	}
	if log := d.Log(); !strings.Contains(log, "log directory goes offline") || !strings.Contains(log, d.b) {
		t.Errorf("no error names the directory:\n%s", log)
	}
}

// The memory that a disk is made of is full, below a file system that has promised room: what is refused is refused by name, the other
// directory goes on, and when there is room again a start has all that was acknowledged. The disk in user space is between the memory and the loop
// device, which takes a write for whole of which its file has taken a part (lo_complete_rq in drivers/block/loop.c), and would so lose what it
// has acknowledged.
func TestADiskWithoutRoomBelowABrokerTakesItsDirectoryAlone(t *testing.T) {
	for _, fs := range rig.FileSystems {
		for _, writer := range []string{"buffered", "direct"} {
			t.Run(fmt.Sprint(fs, " ", writer), func(t *testing.T) {
				d := newPairOfDisks(t, rig.Cache, fs, writer)
				d.produceBoth(t, 20)
				d.bad.Fill(t)
				var err error
				for n := 0; err == nil && n < 5000; n++ {
					err = d.produce(d.inB)
				}
				if !errors.Is(err, kerr.KafkaStorageError) {
					t.Fatalf("appends to a disk without room: %v", err)
				}
				t.Logf("%d were acknowledged", len(d.acked[d.inB]))
				d.wantOffline(t)
				for range 20 {
					must(t, d.produce(d.inA))
				}
				d.check(t, d.inA)
				d.bad.Free(t)
				if err := d.produce(d.inB); err == nil {
					t.Error("a directory that has failed takes records again without a start")
				}
				d.Kill(t)
				d.bad.Restart(t)
				verify(t, d.b)
				d.Start(t)
				d.dial(t)
				d.produceBoth(t, 5)
				d.check(t, d.inA)
				d.check(t, d.inB)
				d.Stop(t)
			})
		}
	}
}

// A disk has lost everything behind its first bytes: reads of it fail, and are never answered with other bytes; the other directory goes on; and a
// start without that disk has nothing empty in the place of its records.
func TestADiskThatIsCutOffBelowABrokerTakesItsPartitionsAlone(t *testing.T) {
	for _, fs := range rig.FileSystems {
		t.Run(fs, func(t *testing.T) {
			d := newPairOfDisks(t, rig.Shutdown, fs, "auto")
			d.produceBoth(t, 600)
			d.Stop(t)
			d.bad.Replug(t) // nothing of it is in memory
			d.Start(t)
			d.dial(t)
			d.bad.CutOff(t, 1<<20)
			failed := 0
			for _, offset := range d.offsets(t) {
				b, err := d.c.fetch("t", d.inB, offset, 64<<10)
				if err != nil {
					failed++
					_ = d.c.Close() // a file that ends early ends its connection
					d.dial(t)
					continue
				}
				if batch, _, err := record.Next(b); err == nil {
					_, err = idOf("t", 60<<10, batch)
					must(t, errors.Join(err, batch.Check()))
				}
			}
			if failed == 0 {
				t.Error("everything is read from a disk that is gone")
			}
			d.check(t, d.inA)
			for range 20 {
				must(t, d.produce(d.inA))
			}
			d.Kill(t)
			d.bad.Unplug(t)
			d.Start(t)
			d.dial(t)
			d.check(t, d.inA)
			if _, err := d.c.offset("t", d.inB, latest); err == nil {
				t.Error("an empty log is in the place of records that are gone")
			}
			if err := d.produce(d.inB); err == nil {
				t.Error("records are taken in the place of those that are gone")
			}
			d.Stop(t)
		})
	}
}

// offsets are some of those that the bad partition has.
func (d *pairOfDisks) offsets(t *testing.T) (some []int64) {
	t.Helper()
	end, err := d.c.offset("t", d.inB, latest)
	must(t, err)
	for at := int64(0); at < end; at += 97 {
		some = append(some, at)
	}
	return some
}
