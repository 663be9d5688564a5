package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// golden is one record of each kind and its bytes, by hand from doc.go. They never change: directories hold them.
var golden = []struct {
	record Record
	hex    string
}{
	{ClusterIDRecord{"abc"}, "01 00 04 03616263"},
	{TopicRecord{ID: ID{0: 1, 15: 2}, Name: "t", Internal: true}, "02 00 13 01000000000000000000000000000002 0174 01"},
	{PartitionRecord{ID{9}, Partition{ID: 1, Leader: -1, LeaderEpoch: 2, PartitionEpoch: 300, Replicas: []int32{0, 1}, ISR: []int32{1}, Directories: []ID{{3}, {4}}}},
		"03 00 3b 09000000000000000000000000000000 02 01 04 d804 02 00 02 01 02 02 03000000000000000000000000000000 04000000000000000000000000000000"},
	{RemoveTopicRecord{ID{7}}, "04 00 10 07000000000000000000000000000000"},
	{ConfigRecord{Resource: Resource{ResourceTopic, "t"}, Key: "k", Value: "v"}, "05 00 08 02 0174 016b 00 0176"},
	{ConfigRecord{Resource: Resource{ResourceBroker, ""}, Key: "k", Delete: true}, "05 00 06 04 00 016b 01 00"},
	{ProducerIDsRecord{1000}, "06 00 02 d00f"},
	{BrokerRecord{Broker{ID: 2, Epoch: -1, Incarnation: ID{5}, Endpoints: []Endpoint{{"P", "h", 9092}}, Rack: "r", Directories: []ID{{6}}, Fenced: true}},
		"07 00 2d 04 01 05000000000000000000000000000000 01 0150 0168 2384 0172 01 06000000000000000000000000000000 01"},
	{StartRecord{3}, "08 00 01 06"},
}

func goldenBytes(t testing.TB) (all []byte, each [][]byte) {
	t.Helper()
	all = []byte{1}
	for _, g := range golden {
		b, err := hex.DecodeString(strings.ReplaceAll(g.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		all, each = append(all, b...), append(each, append([]byte{1}, b...))
	}
	return all, each
}

func TestRecordsHaveTheBytesThatAreDrawn(t *testing.T) {
	all, each := goldenBytes(t)
	var records []Record
	for i, g := range golden {
		records = append(records, g.record)
		if got := AppendRecords(nil, []Record{g.record}); !bytes.Equal(got, each[i]) {
			t.Errorf("%#v is\n%x, want\n%x", g.record, got, each[i])
		}
	}
	if got := AppendRecords(nil, records); !bytes.Equal(got, all) {
		t.Errorf("all together are\n%x, want\n%x", got, all)
	}
	if got, err := DecodeRecords(all); err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("decoded: %v\n%#v, want\n%#v", err, got, records)
	}
}

func TestEveryShortenedEntryIsAnError(t *testing.T) {
	_, each := goldenBytes(t)
	for i, b := range each {
		for n := range len(b) {
			if n == 1 {
				continue // an entry without records
			}
			if records, err := DecodeRecords(b[:n]); err == nil {
				t.Errorf("record %d cut to %d bytes gives %v", i, n, records)
			}
		}
	}
}

func TestWhatANewerProgramWroteIsNamedSo(t *testing.T) {
	for name, b := range map[string][]byte{
		"kind":          {1, 99, 0, 0},
		"huge kind":     {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0},
		"version":       {1, 8, 1, 1, 6},
		"entry version": {2, 8, 0, 1, 6},
	} {
		if _, err := DecodeRecords(b); !errors.Is(err, ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := DecodeRecords([]byte{1, 8, 0, 2, 6, 6}); err == nil || errors.Is(err, ErrNewer) {
		t.Errorf("bytes behind the last field: %v", err)
	}
}

func FuzzDecodeRecords(f *testing.F) {
	all, each := goldenBytes(f)
	f.Add(all)
	for _, b := range each {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := DecodeRecords(b)
		if err != nil {
			return
		}
		again, err := DecodeRecords(AppendRecords(nil, records))
		if err != nil || !reflect.DeepEqual(records, again) {
			t.Fatalf("decoded to\n%#v\nand again to\n%#v: %v", records, again, err)
		}
		_, _, _ = new(Image).Apply(1, records) // must not panic
	})
}

func TestAnIDIsKafkasTextAndBack(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{1})
	for range 1000 {
		id, err := NewID(rng)
		if err != nil {
			t.Fatal(err)
		}
		s := id.String()
		if back, err := ParseID(s); err != nil || back != id || len(s) != 22 || s[0] == '-' || id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Fatalf("%s: %v, %v", s, back, err)
		}
	}
	for _, bad := range []string{"", "abc", strings.Repeat("A", 23), strings.Repeat("=", 22), strings.Repeat("A", 21) + "B"} {
		if id, err := ParseID(bad); err == nil {
			t.Errorf("%q is %v", bad, id)
		}
	}
}
