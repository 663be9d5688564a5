package directories

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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
			kafka.end(how.kafka)

			zurau := broker.Start(t, broker.Options{Dir: kafka.data()})
			v.arrived("zurau", zurau.Addr)
			if got := newReader(ctx, t, zurau.Addr).names(); slices.Contains(got, "gone") {
				t.Errorf("topics %q: one was deleted", got)
			}
			v.goOn(zurau.Addr)
			how.zurau(zurau, t)

			kafka.start()
			v.arrived("Kafka again", kafka.addr)
			v.goOn(kafka.addr)
			kafka.end(how.kafka)

			zurau.Start(t)
			v.arrived("zurau again", zurau.Addr)
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

// names lists the topics.
func (r reader) names() (all []string) {
	r.t.Helper()
	for _, topic := range ask[*kmsg.MetadataResponse](r, kmsg.NewPtrMetadataRequest()).Topics {
		all = append(all, *topic.Topic)
	}
	return all
}
