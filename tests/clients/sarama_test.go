package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/IBM/sarama"

	"github.com/zurau/zurau/tests/broker"
)

// saramas are the ways in which sarama talks: it uses the request versions of the Kafka version that it is told, and those
// that the broker says it has where it asks.
func saramas(t *testing.T, test func(t *testing.T, b *broker.Broker, config func() *sarama.Config)) {
	b := shared(t)
	t.Cleanup(func() { clean(t, b) }) // the tests have ended then
	for _, v := range []sarama.KafkaVersion{sarama.V2_8_0_0, sarama.V4_0_0_0, sarama.MaxVersion} {
		for _, negotiate := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/negotiate=%v", v, negotiate), func(t *testing.T) {
				t.Parallel() // mostly they wait
				test(t, b, func() *sarama.Config {
					c := sarama.NewConfig()
					c.Version, c.ApiVersionsRequest = v, negotiate
					c.Producer.Return.Successes, c.Consumer.Return.Errors = true, true
					c.Consumer.Offsets.Initial, c.Consumer.MaxWaitTime = sarama.OffsetOldest, pollWait
					c.Metadata.Retry.Backoff, c.Consumer.Group.Rebalance.Retry.Backoff = pollWait, pollWait
					return c
				})
			})
		}
	}
}

// topicOf names a topic after the test, so that tests of one broker do not meet.
func topicOf(t *testing.T) string {
	name := []byte(t.Name())
	for i, c := range name {
		if c == '/' || c == '=' {
			name[i] = '-'
		}
	}
	return string(name)
}

func TestSaramaReadsBackWhatItWroteInEveryCodec(t *testing.T) {
	saramas(t, func(t *testing.T, b *broker.Broker, config func() *sarama.Config) {
		want := values(400)
		for _, codec := range []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP,
			sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD} {
			cfg := config()
			cfg.Producer.Compression = codec
			cfg.Producer.RequiredAcks = sarama.WaitForAll
			topic := topicOf(t) + "-" + codec.String()
			p, err := sarama.NewSyncProducer([]string{b.Addr}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			messages := make([]*sarama.ProducerMessage, len(want))
			for i, v := range want {
				messages[i] = &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(v)}
			}
			if err := p.SendMessages(messages); err != nil {
				t.Fatal(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			same(t, consumeSarama(t, b, cfg, topic, len(want)), want)
		}
	})
}

func consumeSarama(t *testing.T, b *broker.Broker, cfg *sarama.Config, topic string, n int) []string {
	t.Helper()
	c, err := sarama.NewConsumer([]string{b.Addr}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx := deadline(t)
	var got []string
	for len(got) < n {
		select {
		case m := <-p.Messages():
			if m.Offset != int64(len(got)) {
				t.Fatalf("offset %d after %d records", m.Offset, len(got))
			}
			got = append(got, string(m.Value))
		case err := <-p.Errors():
			t.Fatal(err)
		case <-ctx.Done():
			t.Fatalf("%d records of %d", len(got), n)
		}
	}
	return got
}

func TestSaramaIdempotentProducerLosesAndDoublesNothing(t *testing.T) {
	saramas(t, func(t *testing.T, b *broker.Broker, config func() *sarama.Config) {
		cfg := config()
		cfg.Producer.Idempotent, cfg.Producer.RequiredAcks, cfg.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
		cfg.Producer.Flush.MaxMessages = 50
		p, err := sarama.NewAsyncProducer([]string{b.Addr}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := values(3000)
		go func() {
			for _, v := range want {
				p.Input() <- &sarama.ProducerMessage{Topic: topicOf(t), Value: sarama.StringEncoder(v)}
			}
			p.AsyncClose()
		}()
		sent := 0
		go func() {
			for err := range p.Errors() {
				t.Error(err)
			}
		}()
		for range p.Successes() {
			sent++
		}
		if sent != len(want) {
			t.Fatalf("%d were acknowledged, want %d", sent, len(want))
		}
		same(t, consumeSarama(t, b, cfg, topicOf(t), len(want)), want)
	})
}

// collect is a consumer of a sarama group that ends its session after n records.
type collect struct {
	n   int
	got []string
	end context.CancelFunc
}

func (*collect) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*collect) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *collect) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			c.got = append(c.got, string(m.Value))
			s.MarkMessage(m, "")
			if len(c.got) == c.n {
				s.Commit()
				c.end()
				return nil
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func TestSaramaGroupContinuesWhereItCommitted(t *testing.T) {
	saramas(t, func(t *testing.T, b *broker.Broker, config func() *sarama.Config) {
		cfg := config()
		cfg.Consumer.Return.Errors = false
		cfg.Consumer.Offsets.AutoCommit.Enable = false
		p, err := sarama.NewSyncProducer([]string{b.Addr}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for round := range 2 {
			want := make([]string, 20)
			for i := range want {
				want[i] = fmt.Sprintf("%d %d", round, i)
				if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: topicOf(t), Value: sarama.StringEncoder(want[i])}); err != nil {
					t.Fatal(err)
				}
			}
			g, err := sarama.NewConsumerGroup([]string{b.Addr}, topicOf(t), cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(deadline(t))
			c := &collect{n: len(want), end: cancel}
			if err := g.Consume(ctx, []string{topicOf(t)}, c); err != nil {
				t.Fatal(err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			same(t, c.got, want)
		}
	})
}

func TestSaramaAdminDoesWhatItSays(t *testing.T) {
	saramas(t, func(t *testing.T, b *broker.Broker, config func() *sarama.Config) {
		a, err := sarama.NewClusterAdmin([]string{b.Addr}, config())
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		topic, size := topicOf(t), "1048576"
		must := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		must("create", a.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
		must("more partitions", a.CreatePartitions(topic, 2, nil, false))
		must("alter config", a.AlterConfig(sarama.TopicResource, topic, map[string]*string{"segment.bytes": &size}, false))
		got, err := a.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"segment.bytes"}}},
			sarama.DescribeConfigsOptions{IncludeSynonyms: true, IncludeDocumentation: true})
		must("describe configs", err)
		if len(got) != 1 || len(got[0].Configs) != 1 || got[0].Configs[0].Value != size {
			t.Errorf("segment.bytes: %+v", got)
		}
		topics, err := a.ListTopics()
		must("list topics", err)
		if d := topics[topic]; d.NumPartitions != 2 || d.ReplicationFactor != 1 {
			t.Errorf("the topic is listed as %+v", d)
		}
		brokers, controller, err := a.DescribeCluster()
		must("describe cluster", err)
		if len(brokers) != 1 || brokers[0].ID() != controller {
			t.Errorf("%d brokers, controller %d", len(brokers), controller)
		}
		dirs, err := a.DescribeLogDirs([]int32{controller})
		must("describe log dirs", err)
		if len(dirs[controller]) != 1 || dirs[controller][0].ErrorCode != 0 {
			t.Errorf("log directories %+v", dirs)
		}
		must("delete records", a.DeleteRecords(topic, map[int32]int64{0: 0}))
		must("delete", a.DeleteTopic(topic))
	})
}
