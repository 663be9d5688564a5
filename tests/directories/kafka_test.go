package directories

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/broker"
)

// everything is what a directory must say whoever serves it: topics, offsets, records, bytes of batches, offsets of groups,
// configs.
func (r reader) everything() []string {
	r.t.Helper()
	lines := r.text(started.UnixMilli()+3_600_000, topics...)
	for _, name := range topics {
		topic := r.topic(name)
		for _, p := range topic.Partitions {
			for _, b := range r.batches(topic, p.Partition, 0) {
				lines = append(lines, fmt.Sprintf("batch %s-%d %d to %d epoch %d producer %d epoch %d sequence %d sum %x", name, p.Partition, b.BaseOffset(),
					b.LastOffset(), b.PartitionLeaderEpoch(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), sha256.Sum256(b.Batch)))
			}
		}
		lines = append(lines, r.configs(kmsg.ConfigResourceTypeTopic, name)...)
	}
	lines = append(lines, r.configs(kmsg.ConfigResourceTypeBroker, "")...)
	for _, g := range groups {
		for _, line := range r.committed(g) {
			lines = append(lines, fmt.Sprint("group ", g, " ", line))
		}
	}
	return lines
}

// configs lists the configs that were set by clients.
func (r reader) configs(kind kmsg.ConfigResourceType, name string) (lines []string) {
	r.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name}}
	for _, c := range ask[*kmsg.DescribeConfigsResponse](r, req).Resources[0].Configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig || c.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig {
			lines = append(lines, fmt.Sprintf("config %d %q %s=%s", kind, name, c.Name, *c.Value))
		}
	}
	slices.Sort(lines)
	return lines
}

// A traveller is a directory on its way, with what it must say next.
type traveller struct {
	t       *testing.T
	ctx     context.Context
	want    []string
	retries []retry
	sent    int
}

// arrived holds what a broker serves against what the one before it did, and retries against where their batches are.
func (v *traveller) arrived(where, addr string) {
	v.t.Helper()
	r := newReader(v.ctx, v.t, addr)
	if v.want != nil {
		differ(v.t, where, r.everything(), v.want)
	}
	for _, one := range v.retries {
		if at := r.again(one); at != one.at {
			v.t.Errorf("%s: a retry of producer %d is at %d, and was at %d", where, one.batch.ProducerID(), at, one.at)
		}
	}
	if v.t.Failed() {
		v.t.FailNow()
	}
}

// goOn adds to the directory what the next broker must find.
func (v *traveller) goOn(addr string) {
	v.t.Helper()
	r := newReader(v.ctx, v.t, addr)
	v.sent++
	from := 1000 * v.sent
	r.send(r.client(), "plain", 3, from, from+40)
	r.send(r.client(kgo.ProducerBatchCompression(kgo.ZstdCompression())), "changelog", 1, from, from+20)
	v.retries = append(v.retries, r.once())
	r.commit("simple", "", -1, int64(from), fmt.Sprint("words ", v.sent))
	v.want = r.everything()
}

func TestADirectoryGoesFromKafkaToZurauAndBackTwice(t *testing.T) {
	for name, how := range map[string]struct {
		kafka syscall.Signal
		zurau func(*broker.Broker, testing.TB)
	}{
		"stopped in order": {syscall.SIGTERM, (*broker.Broker).Stop},
		"killed":           {syscall.SIGKILL, (*broker.Broker).Kill},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			kafka := newApache(t, "log.cleaner.backoff.ms=100", "offsets.topic.num.partitions=5", "transaction.state.log.num.partitions=5")
			v := &traveller{t: t, ctx: ctx}
			kafka.start()
			r := newReader(ctx, t, kafka.addr)
			r.fill()
			r.cleaned()
			kafka.end(how.kafka)
			kafka.set = append(kafka.set, "log.cleaner.enable=false") // what is compacted stays as it is
			kafka.start()
			v.goOn(kafka.addr)
			refused(ctx, t, kafka.data())
			kafka.end(how.kafka)

			zurau := broker.Start(t, broker.Options{Dir: kafka.data()})
			v.arrived("zurau", zurau.Addr)
			if got := newReader(ctx, t, zurau.Addr).names(); slices.Contains(got, "gone") {
				t.Errorf("topics %q: one was deleted", got)
			}
			v.goOn(zurau.Addr)
			newReader(ctx, t, zurau.Addr).ours(kafka.data())
			if how.zurau(zurau, t); how.kafka == syscall.SIGTERM && len(guards(t, kafka.data())) == 0 {
				t.Error("zurau has stopped in order, and guards nothing of what it wrote")
			}

			kafka.start()
			if left := guards(t, kafka.data()); len(left) > 0 {
				t.Errorf("Kafka has the logs, and may cut or compact them, and these speak of what was: %v", left)
			}
			v.arrived("Kafka again", kafka.addr)
			v.goOn(kafka.addr)
			kafka.end(how.kafka)

			zurau.Start(t)
			v.arrived("zurau again", zurau.Addr)
			if end, _ := newReader(ctx, t, zurau.Addr).offset("ours", 0, latest, 0); end != 1 {
				t.Errorf("the topic that Kafka never knew ends at %d, want 1", end)
			}
			v.goOn(zurau.Addr)
			zurau.Stop(t)
			if how.kafka == syscall.SIGTERM {
				// A Kafka that was killed first leads in the epoch that its own metadata has, and so forgets, in its checkpoint
				// of epochs, those that somebody else led in: verify would say so.
				broker.Run(t, "log", "verify", kafka.data())
			}
		})
	}
}

// guards lists the guards of logs. Kafka removes those of a log when it loads it.
func guards(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", "*.guard.deleted"))
	check(t, err)
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(filepath.Dir(name), "-stray") })
}

// names lists the topics.
func (r reader) names() (all []string) {
	r.t.Helper()
	for _, topic := range ask[*kmsg.MetadataResponse](r, kmsg.NewPtrMetadataRequest()).Topics {
		all = append(all, *topic.Topic)
	}
	return all
}

// ours makes a topic that only zurau knows: Kafka sets its folder aside. It returns when the record, and so all that was sent
// before it, is in Kafka's files: what a killed zurau has staged only a zurau knows.
func (r reader) ours(dir string) {
	r.t.Helper()
	r.create("ours", 1)
	check(r.t, r.client().ProduceSync(r.ctx, &kgo.Record{Topic: "ours", Value: []byte("v")}).FirstErr())
	for size := int64(0); size == 0; {
		check(r.t, r.ctx.Err())
		if f, err := os.Stat(filepath.Join(dir, "ours-0", "00000000000000000000.log")); err == nil {
			size = f.Size()
		}
	}
}

// refused tries to start a broker on the directory of a Kafka that runs.
func refused(ctx context.Context, t *testing.T, dir string) {
	t.Helper()
	static, err := config.Load(config.Options{Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": dir}})
	check(t, err)
	s, err := server.Start(ctx, server.Options{Config: static})
	if err == nil {
		err = s.Close(ctx)
		t.Fatalf("a broker started beside Apache Kafka, and closed: %v", err)
	}
	if !strings.Contains(err.Error(), "Apache Kafka or another process holds this lock") {
		t.Fatal(err)
	}
}
