package group

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

// kafkaBatches reads a log that Kafka wrote.
func kafkaBatches(t testing.TB, name string) iter.Seq2[record.Batch, error] {
	b, err := os.ReadFile("testdata/kafka/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(record.Batch, error) bool) {
		for rest := b; len(rest) > 0; {
			batch, more, err := record.Next(rest)
			if !yield(batch, err) || err != nil {
				return
			}
			rest = more
		}
	}
}

func kafkaRecords(t testing.TB, name string) []LogRecord {
	var all []LogRecord
	for r, err := range LogRecords(kafkaBatches(t, name)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestRecordsAreByteForByteKafkas(t *testing.T) {
	kinds := map[string]int{}
	for _, name := range []string{"consumer-offsets-0.log", "consumer-offsets-1.log", "consumer-offsets-classic.log"} {
		for i, r := range kafkaRecords(t, name) {
			d, err := decode(r.Record)
			if err != nil {
				t.Fatalf("%s record %d: %v", name, i, err)
			}
			var again Record
			switch {
			case d.offset != nil && d.offset.expireAt >= 0:
				again = offsetRecord(d.group, d.topic, d.partition, d.offset)
				kinds["offset with a retention"]++
			case d.offset != nil:
				again = offsetRecord(d.group, d.topic, d.partition, d.offset)
				kinds["offset"]++
			case d.isOffset:
				again = offsetTombstone(d.group, d.topic, d.partition)
				kinds["offset's tombstone"]++
			case d.metadata != nil:
				again = groupRecord(d.group, d.metadata)
				kinds["group"]++
			default:
				again = groupTombstone(d.group)
				kinds["group's tombstone"]++
			}
			if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) || (again.Value == nil) != (r.Value == nil) {
				t.Errorf("%s record %d:\n got %x %x\nwant %x %x", name, i, again.Key, again.Value, r.Key, r.Value)
			}
		}
	}
	for _, k := range []string{"offset with a retention", "offset", "offset's tombstone", "group", "group's tombstone"} {
		if kinds[k] == 0 {
			t.Errorf("no %s among the records", k)
		}
	}
}

func TestKafkasOffsetsAreServed(t *testing.T) {
	c := New(Options{Config: DefaultConfig(), Store: &fakeLog{}, Clock: &fakeClock{}, Partitions: 2})
	defer c.Close()
	for p := range int32(2) {
		if err := c.Load(p, LogRecords(kafkaBatches(t, fmt.Sprintf("consumer-offsets-%d.log", p)))); err != nil {
			t.Fatal(err)
		}
	}
	for g := range 5 {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = 7, fmt.Sprintf("group-%d", g)
		c.OffsetFetch(req, func(r *kmsg.OffsetFetchResponse) {
			want := "fetched"
			for p := range 3 {
				want += fmt.Sprintf(" t-plain/%d=%d(epoch -1, \"m%d\")", p, g*100+p, g)
			}
			if got := fetchText(r); got != want {
				t.Errorf("group-%d: %s, want %s", g, got, want)
			}
		})
	}
	c.ListGroups(kmsg.NewPtrListGroupsRequest(), func(r *kmsg.ListGroupsResponse) {
		if len(r.Groups) != 6 {
			t.Errorf("%d groups, want 6: %v", len(r.Groups), r.Groups)
		}
	})
}

func TestOldRecordVersionsAreRead(t *testing.T) {
	for version := int16(0); version <= maxOffsetValueVersion; version++ {
		v := kmsg.NewOffsetCommitValue()
		v.Version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp = version, 5, 7, "m", 8, 9
		d, err := decode(Record{Key: offsetKey("g", "t", 1), Value: v.AppendTo(nil)})
		if err != nil {
			t.Fatalf("offset version %d: %v", version, err)
		}
		want := offset{offset: 5, leaderEpoch: -1, metadata: "m", committedAt: 8, expireAt: -1}
		if version >= 3 {
			want.leaderEpoch = 7
		}
		if version == 1 {
			want.expireAt = 9
		}
		if *d.offset != want {
			t.Errorf("offset version %d: %+v, want %+v", version, *d.offset, want)
		}
	}
	for version := int16(0); version <= maxGroupValueVersion; version++ {
		protocol, instance := "range", "one"
		m := kmsg.GroupMetadataValueMember{MemberID: "a", InstanceID: &instance, RebalanceTimeoutMillis: 3, SessionTimeoutMillis: 4}
		v := kmsg.GroupMetadataValue{Version: version, ProtocolType: "consumer", Generation: 2, Protocol: &protocol, Leader: &m.MemberID, CurrentStateTimestamp: 6, Members: []kmsg.GroupMetadataValueMember{m}}
		d, err := decode(Record{Key: groupKey("g"), Value: v.AppendTo(nil)})
		if err != nil {
			t.Fatalf("group version %d: %v", version, err)
		}
		cfg := DefaultConfig()
		g := NewGroup("g", &cfg, Instant{})
		g.replay(d.metadata)
		wantTimeout := int32(3)
		if version == 0 {
			wantTimeout = 4
		}
		if got := g.members["a"]; g.state != Stable || g.leader != "a" || got.rebalanceTimeoutMs != wantTimeout || (got.instance != nil) != (version >= 3) {
			t.Errorf("group version %d: state %v, leader %q, member %+v", version, g.state, g.leader, got)
		}
	}
}

func TestRecordsThatCannotBeReadAreErrors(t *testing.T) {
	bad := map[string]Record{
		"no key":               {},
		"key cut":              {Key: offsetKey("g", "t", 1)[:9]},
		"empty value":          {Key: offsetKey("g", "t", 1), Value: []byte{}},
		"offset of the future": {Key: offsetKey("g", "t", 1), Value: []byte{0, 5, 0, 0}},
		"offset cut":           {Key: offsetKey("g", "t", 1), Value: []byte{0, 3, 0, 0, 0}},
		"group of the future":  {Key: groupKey("g"), Value: []byte{0, 9}},
		"group cut":            {Key: groupKey("g"), Value: []byte{0, 3, 0}},
	}
	for name, r := range bad {
		if _, err := decode(r); err == nil || errors.Is(err, errUnknownRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decode(Record{Key: []byte{0, 3, 0, 1, 'g'}}); !errors.Is(err, errUnknownRecord) {
		t.Errorf("a KIP-848 record: %v", err)
	}
}

func FuzzRecord(f *testing.F) {
	for _, name := range []string{"consumer-offsets-0.log", "consumer-offsets-classic.log"} {
		for _, r := range kafkaRecords(f, name) {
			f.Add(r.Key, r.Value)
		}
	}
	cfg := DefaultConfig()
	f.Fuzz(func(t *testing.T, key, value []byte) {
		l := loader{cfg: &cfg, groups: map[string]*Group{}, open: transactions{}}
		if l.take(LogRecord{Record: Record{Key: key, Value: value}}) != nil {
			return
		}
		for _, g := range l.groups { // whatever was read can be served
			g.begin(Instant{})
			g.Tick(Instant{Mono: 1 << 40})
			g.Describe(&kmsg.DescribeGroupsResponseGroup{})
			g.Expire(Instant{Wall: 1 << 50})
		}
	})
}

func FuzzSubscription(f *testing.F) {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = []string{"a", "b"}
	f.Add(m.AppendTo(nil))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		into := map[string]bool{}
		ok := readTopics(b, into)
		var parsed kmsg.ConsumerMemberMetadata
		if parsed.ReadFrom(b) != nil || len(parsed.Topics) == 0 {
			return
		}
		for _, topic := range parsed.Topics {
			if !ok || !into[topic] {
				t.Fatalf("%x: %q not read", b, topic)
			}
		}
	})
}
