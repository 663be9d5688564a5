package server_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/kafkadirs"
	"github.com/zurau/zurau/tests/raw"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// topicsOf lists the topics that a client sees, with their partitions.
func topicsOf(c client) (all []string) {
	for _, topic := range ask[*kmsg.MetadataResponse](c, &kmsg.MetadataRequest{Version: 12}).Topics {
		all = append(all, fmt.Sprint(*topic.Topic, " ", len(topic.Partitions)))
	}
	slices.Sort(all)
	return all
}

// config returns a topic's own value of a key, or "".
func (c client) config(topic, key string) string {
	req := &kmsg.DescribeConfigsRequest{Version: 4, Resources: []kmsg.DescribeConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, ConfigNames: []string{key}}}}
	for _, e := range ask[*kmsg.DescribeConfigsResponse](c, req).Resources[0].Configs {
		if e.Source == kmsg.ConfigSourceDynamicTopicConfig {
			return *e.Value
		}
	}
	return ""
}

// sums hashes the files of a folder.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all[e.Name()] = sha256.Sum256(b)
	}
	return all
}

const imported = "imported the metadata of Apache Kafka"

func TestADirectoryOfApacheKafkaIsImportedOnce(t *testing.T) {
	for _, name := range []string{"killed", "clean"} {
		t.Run(name, func(t *testing.T) {
			dir := kafkadirs.Unpack(t, name)
			before := sums(t, filepath.Join(dir, "__cluster_metadata-0"))
			b := start(t, dir)
			c := b.dial()
			want := []string{"__consumer_offsets 2", "__transaction_state 2", "t-compact 1", "t-plain 3", "t-small 1", "t-txn 2"}
			if got := topicsOf(c); !slices.Equal(got, want) || b.ClusterID() != "AAAAAAAAAAAAAAAAAAAAAQ" {
				t.Errorf("cluster %s, topics %q", b.ClusterID(), got)
			}
			if c.config("t-compact", "cleanup.policy") != "compact" || c.config("t-plain", "segment.ms") != "300000" {
				t.Error("the configs are not those of Kafka")
			}
			if got := c.values("t-small"); !slices.Equal(got, []string{"a", "b", "c"}) {
				t.Errorf("t-small has %q", got)
			}
			if got := committed(c, "group-3", "t-plain"); got != 300 {
				t.Errorf("group-3 is at %d of t-plain-0, want 300", got)
			}
			id := ask[*kmsg.InitProducerIDResponse](c, &kmsg.InitProducerIDRequest{Version: 4, ProducerID: -1, ProducerEpoch: -1})
			if id.ProducerID < 1<<40 {
				t.Errorf("producer id %d, which Kafka may give away, too", id.ProducerID)
			}
			if at := c.put("t-small", 0, batch("d")); at != 3 {
				t.Errorf("the next record is at %d", at)
			}
			drop := &kmsg.DeleteTopicsRequest{Version: 6, TimeoutMillis: 10_000, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t-plain")}}}
			if got := ask[*kmsg.DeleteTopicsResponse](c, drop).Topics[0]; got.ErrorCode != 0 {
				t.Fatalf("delete: error %d", got.ErrorCode)
			}
			b.stop()
			again := start(t, dir) // Kafka's metadata has the topic, and ours counts
			if got := topicsOf(again.dial()); slices.Contains(got, "t-plain 3") || len(got) != 5 {
				t.Errorf("topics %q after the second start", got)
			}
			if !strings.Contains(b.log.String(), imported) || strings.Contains(again.log.String(), imported) {
				t.Errorf("said at the first start:\n%s\nand at the second:\n%s", b.log, again.log)
			}
			if after := sums(t, filepath.Join(dir, "__cluster_metadata-0")); len(after) != len(before) {
				t.Errorf("files of Kafka's metadata: %d, were %d", len(after), len(before))
			} else {
				for file, sum := range before {
					if after[file] != sum {
						t.Errorf("%s was changed", file)
					}
				}
			}
		})
	}
}

// A kill may come when the engine has the directory and the metadata has not, or has a file without a record.
func TestAnImportThatWasCutOffIsMadeAtTheNextStart(t *testing.T) {
	dir := kafkadirs.Unpack(t, "killed")
	e, err := engine.Open(engine.Options{Dir: dir})
	must(t, err)
	must(t, e.Close())
	killed := errors.New("killed")
	_, err = metadata.Open(metadata.Options{Dir: dir, NodeID: 1, AtFirst: func() ([]metadata.Record, error) { return nil, killed }})
	if !errors.Is(err, killed) {
		t.Fatal(err)
	}
	b := start(t, dir)
	if got := topicsOf(b.dial()); len(got) != 6 || !strings.Contains(b.log.String(), imported) {
		t.Errorf("topics %q", got)
	}
}

func TestWithoutKafkasMetadataTopicsAreAdoptedAndNothingIsDeleted(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, folder string){
		"missing": func(t *testing.T, folder string) { must(t, os.RemoveAll(folder)) },
		"corrupt": func(t *testing.T, folder string) {
			log := filepath.Join(folder, "00000000000000000000.log")
			b, err := os.ReadFile(log)
			must(t, err)
			b[200] ^= 1
			must(t, os.WriteFile(log, b, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := kafkadirs.Unpack(t, "clean")
			spoil(t, filepath.Join(dir, "__cluster_metadata-0"))
			b := start(t, dir)
			c := b.dial()
			if got := topicsOf(c); len(got) != 6 || b.ClusterID() != "AAAAAAAAAAAAAAAAAAAAAQ" {
				t.Errorf("cluster %s, topics %q", b.ClusterID(), got)
			}
			id := ask[*kmsg.MetadataResponse](c, &kmsg.MetadataRequest{Version: 12, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("t-plain")}}}).Topics[0].TopicID
			if got := metadata.ID(id).String(); got != "HTG7yel4RDajLWwib9uuPg" {
				t.Errorf("t-plain has the id %s", got)
			}
			if c.config("t-plain", "retention.ms") != "-1" || c.config("__consumer_offsets", "cleanup.policy") != "compact" {
				t.Error("records may be deleted that nobody has given up")
			}
			if got := committed(c, "group-3", "t-plain"); got != 300 {
				t.Errorf("group-3 is at %d of t-plain-0, want 300", got)
			}
			if !strings.Contains(b.log.String(), "adopted from their folders") {
				t.Errorf("nobody was told:\n%s", b.log)
			}
		})
	}
}

// Kafka may have its metadata in a directory of its own.
func TestKafkasMetadataIsReadFromItsOwnDirectory(t *testing.T) {
	dir, own := kafkadirs.Unpack(t, "killed"), t.TempDir()
	must(t, os.Rename(filepath.Join(dir, "__cluster_metadata-0"), filepath.Join(own, "__cluster_metadata-0")))
	b := start(t, dir, "metadata.log.dir="+own)
	if b.dial().config("t-compact", "cleanup.policy") != "compact" || !strings.Contains(b.log.String(), imported) {
		t.Errorf("not imported:\n%s", b.log)
	}
	if _, err := os.Stat(filepath.Join(dir, "zurau-metadata.log")); err != nil {
		t.Error(err)
	}
}

// t-small has no retention of its own: what Kafka's was is in a file that the directory does not have.
func TestADefaultRetentionThatKafkaMayNotHaveHadIsWarnedOf(t *testing.T) {
	const warning = "topics without a retention of their own"
	if b := start(t, kafkadirs.Unpack(t, "killed")); !strings.Contains(b.log.String(), warning) || !strings.Contains(b.log.String(), "retention=168h0m0s") {
		t.Errorf("nobody was warned:\n%s", b.log)
	}
	if b := start(t, kafkadirs.Unpack(t, "killed"), "log.retention.hours=-1"); strings.Contains(b.log.String(), warning) {
		t.Errorf("warned of what was set:\n%s", b.log)
	}
}

func TestOpenTransactionsOfApacheKafkaAreNamed(t *testing.T) {
	b := start(t, kafkadirs.Unpack(t, "killed"))
	c := b.dial()
	for !strings.Contains(b.log.String(), "a transaction is open") { // in its own time; the test's time-out says if never
		ask[*kmsg.ApiVersionsResponse](c, &kmsg.ApiVersionsRequest{})
	}
	if log := b.log.String(); !strings.Contains(log, "state=Ongoing") || !strings.Contains(log, "t-txn-") {
		t.Error(log)
	}
}

func TestTheNodeIDIsTheDirectorysWhereNoneIsSet(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, "node.id=7").stop()
	b := start(t, dir)
	if got := ask[*kmsg.MetadataResponse](b.dial(), &kmsg.MetadataRequest{Version: 9}).Brokers; len(got) != 1 || got[0].NodeID != 7 {
		t.Errorf("brokers %+v", got)
	}
	req := &kmsg.DescribeConfigsRequest{Version: 4, Resources: []kmsg.DescribeConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "7", ConfigNames: []string{"node.id"}}}}
	if got := ask[*kmsg.DescribeConfigsResponse](b.dial(), req).Resources[0]; len(got.Configs) != 1 || *got.Configs[0].Value != "7" {
		t.Errorf("described as %+v", got)
	}
}

// Java's locks are fcntl's: they belong to a process, and an open file description's conflict with them even inside one.
func TestADirectoryThatKafkaHasLockedIsRefusedAndOursIsLockedAgainstKafka(t *testing.T) {
	dir := t.TempDir()
	kafka := func() (*os.File, error) {
		f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		return f, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	f, err := kafka()
	must(t, err)
	if s, err := inprocess.Try(t.Context(), dir, new(raw.Log)); err == nil || !strings.Contains(err.Error(), "Apache Kafka or another process") {
		t.Fatalf("beside Kafka: %v, %v", s, err)
	}
	must(t, f.Close())
	b := start(t, dir)
	f, err = kafka()
	if !errors.Is(err, unix.EAGAIN) {
		t.Errorf("Kafka's lock beside this broker: %v", err)
	}
	must(t, f.Close())
	b.dial().create("t", 1)
}

func TestLeaderEpochsGoOnFromThoseOfALaterLeader(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir)
	b.dial().create("t", 1)
	b.dial().put("t", 0, batch("ours"))
	b.stop()
	e, err := engine.Open(engine.Options{Dir: dir})
	must(t, err)
	l, _ := e.Log(engine.Name{Topic: "t"})
	p := new(record.Prepared)
	must(t, p.Prepare(batch("of a later leader").Bytes(), record.DefaultRules(time.Now().UnixMilli())))
	done := make(chan engine.Appended, 1)
	l.Append(p, 40, func(a engine.Appended) { done <- a })
	must(t, (<-done).Err)
	must(t, e.Close())
	epochs, err := checkpoint.ReadLeaderEpochs(fs.OS(), l.Dir())
	must(t, err)
	epochs.Assign(50, 2) // a start of Kafka's that nothing was appended in: clients know its epoch all the same
	must(t, epochs.Write(fs.OS(), l.Dir()))
	for restart := range int32(2) {
		b = start(t, dir)
		c := b.dial()
		got := ask[*kmsg.MetadataResponse](c, &kmsg.MetadataRequest{Version: 9, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("t")}}})
		if epoch := got.Topics[0].Partitions[0].LeaderEpoch; epoch != 51+restart {
			t.Errorf("start %d: leader epoch %d, want %d", restart, epoch, 51+restart)
		}
		if at := c.put("t", 0, batch("ours")); at != 2+int64(restart) {
			t.Errorf("the next record is at %d", at)
		}
		b.stop()
	}
}

// Kafka sets folders aside whose topics it does not know. A retry of the rename may come after a kill in between.
func TestAFolderThatKafkaHasSetAsideIsTakenBack(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir)
	c := b.dial()
	c.create("t", 2)
	c.create("other", 1)
	for topic, v := range map[string]string{"t": "ours", "other": "of another"} {
		c.put(topic, 0, batch(v))
		c.put("t", 1, batch(v))
	}
	b.stop()
	rename := func(from, to string) { must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to))) }
	rename("t-0", "t-0.d007dce1ec3e4e4ab04ad190bd63b43d-stray")
	rename("other-0", "t-1.d007dce1ec3e4e4ab04ad190bd63b43d-stray") // of another id: not t's
	must(t, os.CopyFS(filepath.Join(dir, "t-7.d007dce1ec3e4e4ab04ad190bd63b43d-stray"), os.DirFS(filepath.Join(dir, "t-1"))))
	b = start(t, dir)
	if got := b.dial().values("t"); !slices.Equal(got, []string{"ours"}) {
		t.Errorf("t-0 has %q", got)
	}
	if !strings.Contains(b.log.String(), "took back") {
		t.Error("nobody was told")
	}
	for _, name := range []string{"t-1.d007dce1ec3e4e4ab04ad190bd63b43d-stray", "t-7.d007dce1ec3e4e4ab04ad190bd63b43d-stray"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	b.stop()
	rename("t-0", "t-0.0-stray") // as a kill before the first flush leaves it
	must(t, os.Remove(filepath.Join(dir, "t-0.0-stray", "partition.metadata")))
	b = start(t, dir)
	if got := b.dial().values("t"); !slices.Equal(got, []string{"ours"}) {
		t.Errorf("t-0, which did not say whose it is, has %q", got)
	}
	b.stop()
	rename("t-0", "t-0.0-stray")
	must(t, os.CopyFS(filepath.Join(dir, "t-0.1-stray"), os.DirFS(filepath.Join(dir, "t-0.0-stray"))))
	b = start(t, dir)
	if !strings.Contains(b.log.String(), "two folders of one partition") {
		t.Error("one of two was taken")
	}
}
