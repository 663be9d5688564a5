package kraft

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
)

func TestTheMetadataOfApacheKafkaIsRead(t *testing.T) {
	for _, name := range []string{"killed", "clean"} {
		t.Run(name, func(t *testing.T) {
			s, err := Read(fs.OS(), kafkaFolder(t, name))
			check(t, err)
			var got []string
			for _, topic := range s.sorted() {
				got = append(got, fmt.Sprint(topic.Name, " ", topic.ID, " ", len(topic.Partitions)))
			}
			want := []string{"__consumer_offsets cqUGX5MRSuWhmRTjgkFs_g 2", "__transaction_state PpPubHfYTMKALmuTVx7GmA 2",
				"t-compact Gg4aAJRGTrywH74HCdHykQ 1", "t-plain HTG7yel4RDajLWwib9uuPg 3", "t-small 46v3LbPiRvGqZWlXzNCyrg 1",
				"t-txn OnNdvMu9QRCkfmiEPBu08A 2"}
			if !slices.Equal(got, want) {
				t.Errorf("topics %q, want %q", got, want)
			}
			compact := s.Configs[metadata.Resource{Type: metadata.ResourceTopic, Name: "t-compact"}]
			if compact["cleanup.policy"] != "compact" || compact["min.cleanable.dirty.ratio"] != "0.01" || compact["retention.ms"] != "-1" {
				t.Errorf("configs of t-compact: %v", compact)
			}
			cluster := s.Configs[metadata.Resource{Type: metadata.ResourceBroker}]
			if !maps.Equal(cluster, map[string]string{"min.insync.replicas": "1"}) {
				t.Errorf("configs of all brokers: %v", cluster)
			}
			if s.NextProducerID != 1000 || s.Features["metadata.version"] != 33 || !s.Brokers[1] || s.Cut != nil {
				t.Errorf("next producer id %d, features %v, brokers %v, cut %v", s.NextProducerID, s.Features, s.Brokers, s.Cut)
			}
			// The clean one was stopped twice in order, and started in between: a leader, none, a leader, none.
			p := s.Topics[s.names["t-small"]].Partitions[0]
			if offset := map[string]int64{"killed": 75, "clean": 239}[name]; s.Offset != offset {
				t.Errorf("read up to offset %d, want %d", s.Offset, offset)
			}
			if name == "killed" && (p.Leader != 1 || p.LeaderEpoch != 0) || name == "clean" && (p.Leader != -1 || p.LeaderEpoch == 0 || !slices.Equal(p.Eligible, []int32{1})) {
				t.Errorf("partition t-small-0: %+v", *p)
			}
		})
	}
}

var a, b = metadata.ID{1}, metadata.ID{2}

func TestChangesAddUp(t *testing.T) {
	d := newDisk(t)
	change := of(kindPartitionChange, 2).int32(0).id(a).uvarint(3).tag(0, body{}.int32s(2)).tag(1, body{}.int32(2)).tag(8, body{}.ids(metadata.ID{9}, metadata.ID{8}))
	same := of(kindPartitionChange, 0).int32(0).id(a).uvarint(0)
	d.log(0, batches(0,
		[][]byte{topic("t", a), part(a, 0, 1, 4, 1, 2), conf(2, "t", "k", "v"), conf(2, "t", "gone", "v")},
		[][]byte{change, removed(2, "t", "gone"), topic("u", b), conf(2, "u", "k", "v"), part(b, 0, 1, 0, 1)},
		[][]byte{same, of(kindRemoveTopic, 0).id(b).uvarint(0), empty(kindNoOp)},
		[][]byte{of(kindProducerIDs, 0).int32(1).int64(5).int64(2000).uvarint(0), of(kindFeatureLevel, 0).string("f").int16(3).uvarint(0)},
		[][]byte{of(kindFeatureLevel, 0).string("f").int16(0).uvarint(0), topic("u", metadata.ID{3})}))
	s := d.read()
	want := &Partition{Leader: 2, LeaderEpoch: 5, PartitionEpoch: 6, Replicas: []int32{1, 2}, ISR: []int32{2}, Directories: []metadata.ID{{9}, {8}}}
	if got := s.Topics[a].Partitions[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("partition %+v, want %+v", got, want)
	}
	if got := s.Configs; len(got) != 1 || !maps.Equal(got[metadata.Resource{Type: 2, Name: "t"}], map[string]string{"k": "v"}) {
		t.Errorf("configs %v: a topic's go with it", got)
	}
	if s.Topics[b] != nil || s.Topics[metadata.ID{3}] == nil || s.NextProducerID != 2000 || len(s.Features) != 0 || s.Offset != 16 {
		t.Errorf("%+v", s)
	}
}

func TestATransactionCountsAsAWholeOrNotAtAll(t *testing.T) {
	d := newDisk(t)
	begin, end, abort := empty(kindBeginTransaction), empty(kindEndTransaction), empty(kindAbortTransaction)
	d.log(0, batches(0, [][]byte{begin, topic("ended", a)}, [][]byte{part(a, 0, 1, 0, 1), end}, [][]byte{begin, topic("aborted", b), abort},
		[][]byte{topic("alone", metadata.ID{3}), begin, topic("open", metadata.ID{4})}))
	var names []string
	for _, topic := range d.read().sorted() {
		names = append(names, topic.Name)
	}
	if !slices.Equal(names, []string{"alone", "ended"}) {
		t.Errorf("topics %q", names)
	}
}

func TestTheNewestSnapshotCountsAndTheLogFromItsOffsetOn(t *testing.T) {
	d := newDisk(t)
	d.write("00000000000000000003-0000000001.checkpoint", snapshot(topic("old", a)))
	d.write("00000000000000000010-0000000002.checkpoint", snapshot(topic("new", b), conf(2, "new", "k", "1")))
	d.write("00000000000000000012-0000000002.checkpoint.part", []byte("half"))
	d.log(0, batches(0, [][]byte{[]byte("never read")}))
	d.log(8, batches(8, [][]byte{conf(2, "new", "k", "0"), conf(2, "new", "k", "0"), conf(2, "new", "k", "2")}))
	d.log(11, append(batches(11, [][]byte{topic("behind", a)}), control(12, 2)...))
	s := d.read()
	if s.Topics[b] == nil || s.Topics[a].Name != "behind" || s.Configs[metadata.Resource{Type: 2, Name: "new"}]["k"] != "2" || s.Offset != 13 {
		t.Errorf("%+v", s)
	}
}

func TestABatchLargerThanABufferIsRead(t *testing.T) {
	d := newDisk(t)
	long := strings.Repeat("x", 3*readBytes)
	d.log(0, batches(0, [][]byte{topic("t", a)}, [][]byte{conf(2, "t", "k", long)}, [][]byte{topic("u", b)}))
	if s := d.read(); s.Configs[metadata.Resource{Type: 2, Name: "t"}]["k"] != long || s.Topics[b] == nil {
		t.Errorf("%d topics, up to offset %d", len(s.Topics), s.Offset)
	}
}

func TestATornEndIsLeftOut(t *testing.T) {
	good := batches(0, [][]byte{topic("t", a)})
	whole := append(slices.Clone(good), batches(1, [][]byte{topic("u", b)})...)
	flipped := slices.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, content := range map[string][]byte{
		"cut": whole[:len(whole)-5], "header cut": whole[:len(good)+9], "flipped": flipped, "zeros": append(slices.Clone(good), make([]byte, 5000)...),
	} {
		d := newDisk(t)
		d.log(0, content)
		if s := d.read(); len(s.Topics) != 1 || s.Offset != 1 || s.Cut == nil {
			t.Errorf("%s: %d topics, up to offset %d, cut %v", name, len(s.Topics), s.Offset, s.Cut)
		}
	}
}

func TestWhatCannotBeTrustedIsRefused(t *testing.T) {
	good := batches(0, [][]byte{topic("t", a)}, [][]byte{topic("u", b)})
	flipped := slices.Clone(good)
	flipped[70] ^= 1
	whole := snapshot(topic("t", a))
	for name, c := range map[string]struct {
		files map[string][]byte
		want  error
	}{
		"nothing":                    {nil, os.ErrNotExist},
		"a flipped bit, more behind": {map[string][]byte{"00000000000000000000.log": flipped}, ErrCorrupt},
		"a torn segment that is not the last": {map[string][]byte{"00000000000000000000.log": good[:len(good)-1],
			"00000000000000000002.log": batches(2, [][]byte{empty(kindNoOp)})}, ErrCorrupt},
		"no beginning":    {map[string][]byte{"00000000000000000005.log": batches(5, [][]byte{empty(kindNoOp)})}, ErrCorrupt},
		"a missing part":  {map[string][]byte{"00000000000000000000.log": good, "00000000000000000005.log": batches(5, [][]byte{empty(kindNoOp)})}, ErrCorrupt},
		"a hole":          {map[string][]byte{"00000000000000000000.log": append(slices.Clone(good), batches(7, [][]byte{empty(kindNoOp)})...)}, ErrCorrupt},
		"half a snapshot": {map[string][]byte{"00000000000000000001-0000000000.checkpoint": whole[:len(whole)-80]}, ErrCorrupt},
		"a cut snapshot":  {map[string][]byte{"00000000000000000001-0000000000.checkpoint": whole[:len(whole)-1]}, ErrCorrupt},
		"a newer kind":    {map[string][]byte{"00000000000000000000.log": batches(0, [][]byte{empty(99)})}, ErrNewer},
		"a newer version": {map[string][]byte{"00000000000000000000.log": batches(0, [][]byte{of(kindTopic, 1)})}, ErrNewer},
		"a newer frame":   {map[string][]byte{"00000000000000000000.log": batches(0, [][]byte{{2, 2, 0}})}, ErrNewer},
	} {
		d := newDisk(t)
		for file, content := range c.files {
			d.write(file, content)
		}
		if s, err := Read(d.fsys, dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, s, err, c.want)
		}
	}
	if _, err := Read(fs.NewCrash(1), dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestRecordsThatMakeNoSenseAreErrors(t *testing.T) {
	for name, all := range map[string][][]byte{
		"partition of no topic":    {part(a, 0, 1, 0, 1)},
		"change of no partition":   {topic("t", a), of(kindPartitionChange, 0).int32(3).id(a).uvarint(0)},
		"removal of no topic":      {of(kindRemoveTopic, 0).id(a).uvarint(0)},
		"two topics of one name":   {topic("t", a), topic("t", b)},
		"two topics of one id":     {topic("t", a), topic("u", a)},
		"cut in a string":          {topic("topic", a)[:5]},
		"length beyond the record": {of(kindTopic, 0).uvarint(1 << 30)},
		"a null name":              {of(kindTopic, 0).null().id(a).uvarint(0)},
		"not even a kind":          {{1}},
	} {
		d := newDisk(t)
		d.log(0, batches(0, all))
		if s, err := Read(d.fsys, dir); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
