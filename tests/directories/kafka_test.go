package directories

import (
	"bytes"
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

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/broker"
)

// everything is what a directory must say whoever serves it: topics, offsets, records, bytes of batches, producers, configs, offsets
// of groups.
func (r reader) everything() []string {
	r.t.Helper()
	topics := slices.DeleteFunc(r.names(), func(name string) bool { return strings.HasPrefix(name, "__") || name == "ours" })
	lines := r.text(started.UnixMilli()+3_600_000, topics...)
	for _, name := range topics {
		topic := r.topic(name)
		for _, p := range topic.Partitions {
			lines = append(lines, r.sums(topic, p.Partition)...)
			if !r.emptied(name, p.Partition) {
				lines = append(lines, r.producers(name, p.Partition)...)
			}
		}
		lines = append(lines, r.configs(kmsg.ConfigResourceTypeTopic, name)...)
	}
	lines = append(lines, r.configs(kmsg.ConfigResourceTypeBroker, "")...)
	all := groups
	if slices.Contains(topics, "lines") {
		all = append(slices.Clone(groups), applications[:]...)
	}
	for _, g := range all {
		for _, line := range r.committed(g) {
			lines = append(lines, fmt.Sprint("group ", g, " ", line))
		}
	}
	return lines
}

// emptied reports whether all records of a partition were deleted: Kafka, which after a kill reads the producers from what is above
// the log start, then knows none.
func (r reader) emptied(topic string, partition int32) bool {
	r.t.Helper()
	start, _ := r.offset(topic, partition, earliest, 0)
	end, _ := r.offset(topic, partition, latest, 0)
	return start > 0 && start == end
}

// sums lists the batches of a partition, each with a sum of all its bytes.
func (r reader) sums(topic kmsg.MetadataResponseTopic, partition int32) (lines []string) {
	r.t.Helper()
	for _, b := range r.batches(topic, partition, 0) {
		lines = append(lines, fmt.Sprintf("batch %s-%d %d to %d epoch %d producer %d epoch %d sequence %d sum %x", *topic.Topic, partition,
			b.BaseOffset(), b.LastOffset(), b.PartitionLeaderEpoch(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), sha256.Sum256(b.Batch)))
	}
	return lines
}

// epochs lists where leader epochs end. That of the current one moves.
func (r reader) epochs() (lines []string) {
	r.t.Helper()
	for _, name := range r.names() {
		if name == "ours" {
			continue
		}
		for _, p := range r.topic(name).Partitions {
			for epoch := range p.LeaderEpoch {
				rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p.Partition, -1, epoch
				rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
				rt.Topic, rt.Partitions = name, append(rt.Partitions, rp)
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
				got := ask[*kmsg.OffsetForLeaderEpochResponse](r, req).Topics[0].Partitions[0]
				check(r.t, kerr.ErrorForCode(got.ErrorCode))
				lines = append(lines, fmt.Sprintf("epoch %d of %s-%d: that of %d ends at %d", epoch, name, p.Partition, got.LeaderEpoch, got.EndOffset))
			}
		}
	}
	return lines
}

// internal lists the batches of each partition of the topics that brokers keep for themselves. They add to them.
func (r reader) internal() map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	for _, name := range []string{"__consumer_offsets", "__share_group_state", "__transaction_state"} {
		topic := r.topic(name)
		for _, p := range topic.Partitions {
			all[fmt.Sprint(name, "-", p.Partition)] = r.sums(topic, p.Partition)
		}
	}
	return all
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
	t         *testing.T
	ctx       context.Context
	dir       string
	want      []string
	epochs    []string
	internal  map[string][]string
	producers []*sequence
	words     words // nil where there is no Kafka Streams
	steps     int
	began     time.Time
}

// passed says how long the way has taken so far.
func (v *traveller) passed(where string) {
	v.t.Logf("%5.1f s: %s", time.Since(v.began).Seconds(), where)
}

// arrived holds what a broker serves against what the one before it did.
func (v *traveller) arrived(where, addr string) reader {
	v.t.Helper()
	r := newReader(v.ctx, v.t, addr)
	differ(v.t, where, r.everything(), v.want)
	internal := r.internal()
	for log, want := range v.internal {
		got := internal[log]
		differ(v.t, where+", "+log, got[:min(len(got), len(want))], want)
	}
	v.stopIfFailed()
	return r
}

// sameEpochs holds what zurau knows of leader epochs against what the Kafka before it did. Not the other way round: a Kafka knows
// those of another leader from the checkpoint, and drops them from there where it leads in an earlier one.
func (v *traveller) sameEpochs(r reader) {
	v.t.Helper()
	got := r.epochs()
	for _, line := range v.epochs {
		if !slices.Contains(got, line) {
			v.t.Errorf("zurau does not say: %s", line)
		}
	}
	v.stopIfFailed()
}

func (v *traveller) stopIfFailed() {
	v.t.Helper()
	if v.t.Failed() {
		v.t.FailNow()
	}
}

// goOn adds to the directory what the next broker must find. The applications are those that can run here.
func (v *traveller) goOn(r reader, apps ...string) {
	v.t.Helper()
	for _, s := range v.producers {
		r.goOn(s)
	}
	v.steps++
	from := 1000 * v.steps
	r.send(r.client(), "plain", 3, from, from+40)
	if v.steps > 1 { // in the first broker the cleaner runs
		r.send(r.client(kgo.ProducerBatchCompression(kgo.ZstdCompression())), "changelog", 1, from, from+20)
	}
	r.send(r.client(), "stamped", 1, from, from+10)
	v.producers = append(v.producers, r.begin())
	r.commit("simple", "", -1, int64(from), fmt.Sprint("words ", v.steps))
	if v.words != nil {
		r.feed(v.words, v.steps)
		r.count(v.words, apps...)
	}
	v.stopIfFailed()
}

// leave notes what the directory says, as soon as its log starts are in the checkpoint, which a kill would leave behind.
func (v *traveller) leave(r reader) {
	v.t.Helper()
	v.want, v.epochs, v.internal = r.everything(), r.epochs(), r.internal()
	for _, name := range r.names() {
		for _, p := range r.topic(name).Partitions {
			for start, _ := r.offset(name, p.Partition, earliest, 0); start > 0; check(v.t, v.ctx.Err()) {
				if at, ok := pointOf(v.t, v.dir, "log-start-offset-checkpoint", fmt.Sprint(name, " ", p.Partition)); ok && at == start {
					break
				}
			}
		}
	}
}

// interrupt leaves of a cleaner what a kill does: one segment that it had written and was about to put in place of the old one, and one
// that it had not finished.
func (v *traveller) interrupt() {
	v.t.Helper()
	logs, err := filepath.Glob(filepath.Join(v.dir, "changelog-0", "*.log"))
	check(v.t, err)
	if len(logs) < 2 {
		v.t.Fatalf("%d segments", len(logs))
	}
	for i, to := range []string{".swap", ".cleaned"} { // the second one ends in the midst of a batch
		for _, suffix := range []string{".log", ".index", ".timeindex"} {
			file := strings.TrimSuffix(logs[i], ".log") + suffix
			b, err := os.ReadFile(file)
			check(v.t, err)
			check(v.t, os.WriteFile(file+to, b[:len(b)/(i+1)], 0o644))
		}
	}
}

// tidy fails where something is left of what was deleted, or was being cleaned.
func (v *traveller) tidy() {
	v.t.Helper()
	for _, left := range []string{"gone-*", "*/*.swap", "*/*.cleaned"} {
		if found, _ := filepath.Glob(filepath.Join(v.dir, left)); len(found) > 0 {
			v.t.Errorf("left behind: %q", found)
		}
	}
}

func TestADirectoryGoesFromKafkaToZurauAndBackTwice(t *testing.T) {
	type ends struct {
		kafka [2]syscall.Signal
		zurau func(*broker.Broker, testing.TB)
	}
	ways := map[string]ends{"killed and then stopped": {[2]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}, (*broker.Broker).Kill}}
	if broker.Long() {
		ways["stopped in order"] = ends{[2]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, (*broker.Broker).Stop}
		ways["killed"] = ends{[2]syscall.Signal{syscall.SIGKILL, syscall.SIGKILL}, (*broker.Broker).Kill}
	}
	for name, how := range ways {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			defer cancel()
			kafka := newApache(t, "log.cleaner.backoff.ms=100", "offsets.topic.num.partitions=5", "transaction.state.log.num.partitions=5",
				"share.coordinator.state.topic.num.partitions=1", "log.flush.start.offset.checkpoint.interval.ms=100")
			if dir := os.Getenv("ZURAU_DIRECTORY"); dir != "" && !broker.Long() {
				kafka.dir = dir
			}
			v := &traveller{t: t, ctx: ctx, dir: kafka.data(), began: time.Now()}
			kafka.start()
			v.passed("Kafka is up")
			r := newReader(ctx, t, kafka.addr)
			r.fill()
			if r.hasStreams() {
				r.prepare()
				v.words = words{}
			}
			v.passed("filled")
			v.goOn(r, applications[:]...)
			v.passed("gone on")
			r.cleaned(v.dir)
			v.passed("cleaned")
			refused(ctx, t, v.dir)
			v.leave(r)
			kafka.end(how.kafka[0])
			v.passed("Kafka has ended")
			if how.kafka[0] == syscall.SIGKILL {
				v.interrupt()
			}
			check(t, os.Mkdir(filepath.Join(v.dir, "remote-log-index-cache"), 0o755)) // a Kafka with tiered storage has it
			cleaner, err := os.ReadFile(filepath.Join(v.dir, "cleaner-offset-checkpoint"))
			check(t, err)

			zurau := broker.Start(t, broker.Options{Dir: v.dir})
			v.tidy()
			r = v.arrived("zurau", zurau.Addr)
			v.sameEpochs(r)
			v.goOn(r, applications[1])
			r.ours(v.dir)
			v.leave(r)
			if how.zurau(zurau, t); how.kafka[0] == syscall.SIGTERM && len(guards(t, v.dir)) == 0 {
				t.Error("zurau has stopped in order, and guards nothing of what it wrote")
			}
			v.passed("zurau has ended")
			if b, err := os.ReadFile(filepath.Join(v.dir, "cleaner-offset-checkpoint")); err != nil || !bytes.Equal(b, cleaner) {
				t.Errorf("the cleaner's checkpoint was %q, and is %q: %v", cleaner, b, err)
			}

			kafka.set = append(kafka.set, "log.cleaner.enable=false") // what is compacted stays as it is
			kafka.start()
			v.passed("Kafka is up again")
			r = v.arrived("Kafka again", kafka.addr)
			if left := guards(t, v.dir); len(left) > 0 {
				t.Errorf("Kafka has the logs, and may cut or compact them, and these speak of what was: %v", left)
			}
			v.goOn(r, applications[:]...)
			v.leave(r)
			kafka.end(how.kafka[1])
			v.passed("Kafka has ended again")

			zurau.Start(t)
			r = v.arrived("zurau again", zurau.Addr)
			v.sameEpochs(r)
			if end, _ := r.offset("ours", 0, latest, 0); end != 1 {
				t.Errorf("the topic that Kafka never knew ends at %d, want 1", end)
			}
			v.goOn(r)
			zurau.Stop(t)
			v.passed("zurau has stopped")
			if how.kafka[0] == syscall.SIGTERM {
				// A Kafka that was killed first leads in the epoch that its own metadata has, and so forgets, in its checkpoint
				// of epochs, those that somebody else led in: verify would say so.
				broker.Run(t, "log", "verify", v.dir)
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
	slices.Sort(all)
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
