package kraft

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/replication/metadata"
)

var own = metadata.ID{0xd1}

// image applies a plan to an empty image, as a first start does.
func image(t *testing.T, records []metadata.Record) *metadata.Image {
	t.Helper()
	img, _, err := new(metadata.Image).Apply(1, records)
	check(t, err)
	return img
}

func partitionOf(t *testing.T, img *metadata.Image, topic string, number int32) metadata.Partition {
	t.Helper()
	of, _ := img.Topic(topic)
	p, ok := of.Partition(number)
	if !ok {
		t.Fatalf("no partition %d of %s", number, topic)
	}
	return p
}

func read(t *testing.T, records ...[]byte) *State {
	t.Helper()
	d := newDisk(t)
	d.log(0, batches(0, records))
	return d.read()
}

func withDirectory(id metadata.ID, number int32, directory metadata.ID, replicas ...int32) []byte {
	b := of(kindPartition, 1).int32(number).id(id).int32s(replicas...).int32s(replicas...).int32s().int32s()
	return b.int32(replicas[0]).int32(3).int32(7).ids(directory).uvarint(0)
}

func TestAPartitionIsServedWhereItsFolderIs(t *testing.T) {
	s := read(t, topic("t", a),
		part(a, 0, 2, 5, 2, 1),                     // led by another, here
		part(a, 1, 2, 5, 2, 3),                     // elsewhere
		part(a, 2, 1, 5, 1),                        // only ours, and never made
		withDirectory(a, 3, metadata.ID{0xee}, 1),  // in another directory of ours
		withDirectory(a, 4, metadata.ID{15: 1}, 1), // in a directory that is not known
		of(kindPartition, 2).int32(5).id(a).int32s(2, 1).int32s(2).int32s().int32s().int32(2).int32(9).int32(9).ids().uvarint(0),
		of(kindPartition, 2).int32(6).id(a).int32s(2, 1).int32s().int32s().int32s().int32(-1).int32(9).int32(9).ids().uvarint(1).tag(1, body{}.int32s(1)),
		part(a, 7, 1, 2, 1))
	plan := s.Import(Broker{NodeID: 1, ClusterID: "c", Directories: []metadata.ID{own},
		Logs: []Log{{"t", 0, a, 5, own}, {"t", 5, a, 4, own}, {"t", 6, a, 9, own}, {"t", 7, a, 12, own}, {"unknown", 0, b, 1, own}}})
	img := image(t, plan.Records)
	if img.ClusterID != "c" || plan.Topics != 1 || plan.Partitions != 8 {
		t.Errorf("cluster %q, %d topics, %d partitions", img.ClusterID, plan.Topics, plan.Partitions)
	}
	for number, want := range []string{"1 5 [1] [1] [own]", "-1 5 [2 3] [] []", "1 5 [1] [1] [own]", "-1 3 [1] [] []", "1 3 [1] [1] [own]",
		"1 9 [1] [1] [own]", "1 9 [1] [1] [own]", "1 12 [1] [1] [own]"} {
		p := partitionOf(t, img, "t", int32(number))
		var where []string
		for _, id := range p.Directories {
			where = append(where, map[bool]string{true: "own", false: id.String()}[id == own])
		}
		if got := fmt.Sprint(p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, where); got != want {
			t.Errorf("partition %d: %s, want %s", number, got, want)
		}
	}
	if want := []string{"t-1", "t-3"}; !slices.Equal(plan.Absent, want) {
		t.Errorf("absent %q, want %q", plan.Absent, want)
	}
	if want := []string{"t-5"}; !slices.Equal(plan.Lagging, want) {
		t.Errorf("lagging %q, want %q", plan.Lagging, want)
	}
}

func TestOfSeveralDirectoriesEachPartitionIsInItsFoldersOrInKafkasChoice(t *testing.T) {
	other := metadata.ID{0xdd}
	s := read(t, topic("t", a),
		withDirectory(a, 0, own, 1),                // was moved to the other by hand
		withDirectory(a, 1, other, 1),              // never made
		withDirectory(a, 2, metadata.ID{15: 1}, 1), // never made, and Kafka had not placed it: the other has fewer
		withDirectory(a, 3, metadata.ID{0xee}, 1))  // in one that is not here
	plan := s.Import(Broker{NodeID: 1, Directories: []metadata.ID{own, other}, Logs: []Log{
		{"t", 0, a, 5, other}, {"u", 0, b, 0, own}, {"u", 1, b, 0, own}, {"u", 2, b, 0, own}}})
	img := image(t, plan.Records)
	for number, want := range []metadata.ID{other, other, other} {
		if p := partitionOf(t, img, "t", int32(number)); p.Leader != 1 || len(p.Directories) != 1 || p.Directories[0] != want {
			t.Errorf("partition %d: led by %d in %v, want %v", number, p.Leader, p.Directories, want)
		}
	}
	if p := partitionOf(t, img, "t", 3); p.Leader != -1 || !slices.Equal(plan.Absent, []string{"t-3"}) {
		t.Errorf("t-3 is led by %d, absent are %q", p.Leader, plan.Absent)
	}
	adopted, err := Adopt(Broker{NodeID: 1, Logs: []Log{{"t", 0, a, 5, other}, {"t", 1, a, 5, own}}}, rand.Reader)
	check(t, err)
	img = image(t, adopted.Records)
	for number, want := range []metadata.ID{other, own} {
		if p := partitionOf(t, img, "t", int32(number)); len(p.Directories) != 1 || p.Directories[0] != want {
			t.Errorf("adopted, partition %d is in %v, want %v", number, p.Directories, want)
		}
	}
}

func TestConfigsOfWhatIsHereAreImportedAndTheOthersNamed(t *testing.T) {
	s := read(t, topic("t", a), part(a, 0, 1, 0, 1), conf(2, "t", "retention.ms", "1"), conf(2, "t", "nonsense", "x"),
		conf(4, "", "log.retention.ms", "2"), conf(4, "1", "log.cleaner.threads", "3"), conf(4, "2", "log.cleaner.threads", "4"),
		conf(16, "metrics", "interval.ms", "5"), conf(32, "group", "consumer.session.timeout.ms", "6"), conf(8, "1", "logger", "DEBUG"))
	plan := s.Import(Broker{NodeID: 1, Directories: []metadata.ID{own}, Accept: func(r metadata.Resource, key, _ string) error {
		if key == "nonsense" {
			return errors.New("unknown")
		}
		return nil
	}})
	img := image(t, plan.Records)
	for r, want := range map[metadata.Resource]map[string]string{
		{Type: metadata.ResourceTopic, Name: "t"}:               {"retention.ms": "1"},
		{Type: metadata.ResourceBroker}:                         {"log.retention.ms": "2"},
		{Type: metadata.ResourceBroker, Name: "1"}:              {"log.cleaner.threads": "3"},
		{Type: metadata.ResourceBroker, Name: "2"}:              {},
		{Type: metadata.ResourceClientMetrics, Name: "metrics"}: {"interval.ms": "5"},
		{Type: metadata.ResourceGroup, Name: "group"}:           {"consumer.session.timeout.ms": "6"},
	} {
		if got := img.Configs(r.Type, r.Name); len(got)+len(want) > 0 && !maps.Equal(got, want) {
			t.Errorf("%v: %v, want %v", r, got, want)
		}
	}
	if !slices.Equal(plan.Refused, []string{"nonsense of topic t: unknown"}) || plan.Configs != 5 {
		t.Errorf("refused %q, imported %d", plan.Refused, plan.Configs)
	}
	if !slices.Contains(plan.Left, "2 configs of other brokers") {
		t.Errorf("left %q", plan.Left)
	}
}

func TestWhatHasNoPlaceHereIsCounted(t *testing.T) {
	acl := func(id byte) []byte {
		return of(kindACL, 0).id(metadata.ID{id}).int8(2).string("t").int8(3).string("User:u").string("*").int8(2).int8(3).uvarint(0)
	}
	scram := func(user string) []byte {
		return of(kindScram, 0).string(user).int8(1).string("salt").string("stored").string("server").int32(4096).uvarint(0)
	}
	quota := func(key string, remove int8) []byte {
		return of(kindClientQuota, 0).uvarint(2).string("user").null().uvarint(0).string(key).int64(int64(math.Float64bits(7))).int8(remove).uvarint(0)
	}
	token := func(id string) []byte {
		return of(kindDelegationToken, 0).string("o").string("r").uvarint(2).string("n").int64(1).int64(2).int64(3).string(id).uvarint(0)
	}
	s := read(t, acl(1), acl(2), acl(3), of(kindRemoveACL, 0).id(metadata.ID{2}).uvarint(0),
		scram("x"), scram("y"), of(kindRemoveScram, 0).string("x").int8(1).uvarint(0),
		quota("producer_byte_rate", 0), quota("consumer_byte_rate", 0), quota("consumer_byte_rate", 1),
		token("1"), token("2"), of(kindRemoveToken, 0).string("1").uvarint(0),
		of(kindRegisterBroker, 4).int32(1), of(kindRegisterBroker, 0).int32(2), of(kindRegisterBroker, 3).int32(3),
		of(kindUnregisterBroker, 0).int32(3), of(kindFeatureLevel, 0).string("metadata.version").int16(27).uvarint(0),
		of(kindProducerIDs, 0).int32(1).int64(1).int64(7000).uvarint(0))
	plan := s.Import(Broker{NodeID: 1})
	want := []string{"2 ACLs", "1 quotas", "1 SCRAM credentials", "1 delegation tokens", "1 other brokers"}
	if !slices.Equal(plan.Left, want) || !slices.Equal(plan.Features, []string{"metadata.version=27"}) {
		t.Errorf("left %q, features %q; want %q", plan.Left, plan.Features, want)
	}
	if img := image(t, plan.Records); img.NextProducerID != 7000 || plan.NextProducerID != 7000 {
		t.Errorf("next producer id %d, want 7000", img.NextProducerID)
	}
}

func TestTopicsAreAdoptedFromTheirFolders(t *testing.T) {
	internal := func(name string) bool { return strings.HasPrefix(name, "__") }
	plan, err := Adopt(Broker{NodeID: 4, ClusterID: "c", Directories: []metadata.ID{own}, Internal: internal, Logs: []Log{
		{"t", 3, metadata.ID{}, 6, own}, {"t", 0, a, -1, own}, {"t", 1, b, 9, own}, {"__consumer_offsets", 0, metadata.ID{6}, 2, own},
		{"none", 0, metadata.ID{}, 0, own}, {"far", mostPartitions, metadata.ID{5}, 0, own}, {"t-copy", 0, a, 0, own}}}, rand.Reader)
	check(t, err)
	img := image(t, plan.Records)
	of, _ := img.Topic("t")
	if of.ID() != a || of.Len() != 4 || img.ClusterID != "c" {
		t.Fatalf("topic t: id %s, %d partitions", of.ID(), of.Len())
	}
	for number, want := range []string{"4 0", "-1 0", "-1 0", "4 6"} {
		p := partitionOf(t, img, "t", int32(number))
		if got := fmt.Sprint(p.Leader, p.LeaderEpoch); got != want {
			t.Errorf("t-%d: leader and epoch %s, want %s", number, got, want)
		}
	}
	if kept := img.Configs(metadata.ResourceTopic, "t"); kept["retention.ms"] != "-1" || kept["retention.bytes"] != "-1" {
		t.Errorf("configs of t, whose retention nobody knows: %v", kept)
	}
	offsets, _ := img.Topic("__consumer_offsets")
	if c := img.Configs(metadata.ResourceTopic, "__consumer_offsets"); !offsets.Internal() || c["cleanup.policy"] != "compact" {
		t.Errorf("__consumer_offsets: internal %v, configs %v", offsets.Internal(), c)
	}
	if none, ok := img.Topic("none"); !ok || none.ID().IsZero() {
		t.Error("a topic whose folder has no id got none")
	}
	if _, ok := img.Topic("far"); ok || len(plan.Left) != 3 {
		t.Errorf("left %q", plan.Left)
	}
	if _, ok := img.Topic("t-copy"); ok {
		t.Error("a copy of a folder became a topic with the id of another")
	}
	if want := []string{"t-1", "t-2"}; !slices.Equal(plan.Absent, want) {
		t.Errorf("absent %q, want %q", plan.Absent, want)
	}
}
