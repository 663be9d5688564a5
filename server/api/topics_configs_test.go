package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

type change struct {
	key   string
	op    int8
	value string // "null" for null
}

func changeRequest(kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	one := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
	for _, c := range changes {
		config := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: c.key, Op: kmsg.IncrementalAlterConfigOp(c.op), Value: &c.value}
		if c.value == "null" {
			config.Value = nil
		}
		one.Configs = append(one.Configs, config)
	}
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{one}
	return req
}

func replaceRequest(kind kmsg.ConfigResourceType, name string, configs ...string) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version = 2
	one := kmsg.AlterConfigsRequestResource{ResourceType: kind, ResourceName: name}
	for i := 0; i < len(configs); i += 2 {
		one.Configs = append(one.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req.Resources = []kmsg.AlterConfigsRequestResource{one}
	return req
}

func TestChangesAreRefusedWithKafkasCodesAndNothingChanges(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1, "flush.ms", "5"))
	for _, c := range []struct {
		kind    kmsg.ConfigResourceType
		name    string
		changes []change
		want    int16
	}{
		{2, "t", []change{{"no.such", 0, "1"}}, 40},
		{2, "t", []change{{"flush.ms", 0, "many"}}, 40},
		{2, "t", []change{{"flush.ms", 0, "7"}, {"segment.bytes", 0, "many"}}, 40},
		{2, "t", []change{{"flush.ms", 0, "null"}}, 42},
		{2, "t", []change{{"flush.ms", 0, "1"}, {"flush.ms", 0, "2"}}, 42},
		{2, "t", []change{{"flush.ms", 2, "1"}}, 40},
		{2, "t", []change{{"flush.ms", 9, "1"}}, -1},
		{2, "none", []change{{"flush.ms", 0, "1"}}, 3},
		{2, "none", nil, 3},
		{2, "none", []change{{"no.such", 0, "1"}}, 40},
		{2, "none", []change{{"flush.ms", 0, "1"}, {"flush.ms", 0, "2"}}, 42},
		{2, "none", []change{{"flush.ms", 9, "1"}}, -1},
		{2, "", nil, 42},
		{2, "../x", []change{{"flush.ms", 0, "1"}}, 17},
		{4, "x", []change{{"log.retention.ms", 0, "1"}}, 42},
		{4, "2", []change{{"log.retention.ms", 0, "1"}}, 42},
		{4, "1", []change{{"log.dirs", 0, "/x"}}, 42},
		{4, "", []change{{"log.dirs", 0, "/x"}}, 42},
		{4, "", []change{{"min.insync.replicas", 1, ""}}, 40},
		{4, "1", []change{{"min.insync.replicas", 0, "1"}}, 40},
		{16, "", []change{{"interval.ms", 0, "5000"}}, 42},
		{32, "", []change{{"consumer.session.timeout.ms", 0, "50000"}}, 42},
		{32, "g", []change{{"consumer.session.timeout.ms", 0, "1"}}, 40},
		{8, "1", []change{{"root", 0, "INFO"}}, 40},
		{8, "1", []change{{"kafka", 0, "INFO"}}, 40},
		{8, "1", []change{{"root", 1, ""}}, 42},
		{8, "1", []change{{"root", 2, "INFO"}}, 42},
		{8, "2", []change{{"root", 0, "INFO"}}, 42},
		{8, "", []change{{"root", 0, "INFO"}}, 42},
		{0, "x", nil, 42},
		{99, "x", []change{{"flush.ms", 0, "1"}}, 42},
	} {
		before := b.Metadata.Image().Offset
		for _, validateOnly := range []bool{true, false} {
			req := changeRequest(c.kind, c.name, c.changes...)
			req.ValidateOnly = validateOnly
			if got := b.answerIncrementalAlterConfigs(req).Resources[0]; got.ErrorCode != c.want || got.ResourceName != c.name {
				t.Errorf("type %d, %q, %v: error %d, want %d", c.kind, c.name, c.changes, got.ErrorCode, c.want)
			}
		}
		if b.Metadata.Image().Offset != before {
			t.Errorf("type %d, %q, %v changed something", c.kind, c.name, c.changes)
		}
	}
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "5"})
}

func TestChangesAreMadeForEachResourceOnItsOwn(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1, "flush.ms", "5", "segment.bytes", "2097152"), newTopic("u", 1, 1))
	req := changeRequest(2, "t", change{"flush.ms", 0, "7"}, change{"segment.bytes", 1, ""}, change{"cleanup.policy", 2, "compact"})
	for _, more := range []*kmsg.IncrementalAlterConfigsRequest{
		changeRequest(2, "none", change{"flush.ms", 0, "7"}), changeRequest(2, "u", change{"flush.ms", 0, "8"}),
		changeRequest(2, "u", change{"flush.ms", 0, "9"}), changeRequest(4, "01", change{"log.cleaner.threads", 0, "2"}),
		changeRequest(32, "g", change{"consumer.session.timeout.ms", 0, "50000"}), changeRequest(16, "m", change{"interval.ms", 0, "5000"}),
	} {
		req.Resources = append(req.Resources, more.Resources...)
	}
	for i, want := range []int16{0, 3, 42, 42, 0, 0, 0} {
		if i == 0 {
			continue
		}
		if got := b.answerIncrementalAlterConfigs(validated(req)).Resources[i].ErrorCode; got != want {
			t.Errorf("resource %d: error %d, want %d", i, got, want)
		}
	}
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "5", "segment.bytes": "2097152"})
	b.answerIncrementalAlterConfigs(req)
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "7", "cleanup.policy": "delete,compact"})
	wantConfigs(t, b, metadata.ResourceTopic, "u", nil)
	wantConfigs(t, b, metadata.ResourceBroker, "1", map[string]string{"log.cleaner.threads": "2"})
	wantConfigs(t, b, metadata.ResourceGroup, "g", map[string]string{"consumer.session.timeout.ms": "50000"})
	wantConfigs(t, b, metadata.ResourceClientMetrics, "m", map[string]string{"interval.ms": "5000"})
	if n := b.Layers().Int("log.cleaner.threads"); n != 2 {
		t.Errorf("log.cleaner.threads is %d", n)
	}
}

// validated is the same request that changes nothing.
func validated(req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsRequest {
	again := *req
	again.ValidateOnly = true
	return &again
}

func TestReplacingForgetsWhatIsNotNamed(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1, "flush.ms", "5"))
	req := replaceRequest(2, "t", "segment.bytes", "2097152")
	req.ValidateOnly = true
	if code := b.answerAlterConfigs(req).Resources[0].ErrorCode; code != 0 {
		t.Errorf("error %d", code)
	}
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "5"})
	for _, c := range []struct {
		req  *kmsg.AlterConfigsRequest
		want int16
	}{
		{replaceRequest(2, "t", "no.such", "1"), 40}, {replaceRequest(2, "t", "flush.ms", "many"), 40}, {replaceRequest(2, "none", "flush.ms", "1"), 3},
		{replaceRequest(2, "t", "flush.ms", "1", "flush.ms", "2"), 42}, {replaceRequest(8, "1", "root", "INFO"), 42}, {replaceRequest(99, "t"), 42},
		{replaceRequest(4, "2"), 42}, {replaceRequest(4, "", "log.cleaner.threads", "1"), 40},
	} {
		if got := b.answerAlterConfigs(c.req).Resources[0].ErrorCode; got != c.want {
			t.Errorf("%+v: error %d, want %d", c.req.Resources[0], got, c.want)
		}
	}
	twice := replaceRequest(2, "t", "flush.ms", "1")
	twice.Resources = append(twice.Resources, twice.Resources...)
	if got := b.answerAlterConfigs(twice).Resources; len(got) != 2 || got[0].ErrorCode != 42 || got[1].ErrorCode != 42 {
		t.Errorf("%+v", got)
	}
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "5"})
	req.ValidateOnly = false
	b.answerAlterConfigs(req)
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"segment.bytes": "2097152"})
}

func TestTopicsAndConfigsAreThereAfterARestart(t *testing.T) {
	dir := t.TempDir()
	b := openTopicBroker(t, dir)
	registerBrokers(t, b, metadata.Broker{ID: 1})
	id := mustCreate(t, b, newTopic("t", 2, 1, "flush.ms", "5"))[0]
	b.answerIncrementalAlterConfigs(changeRequest(2, "t", change{"segment.bytes", 0, "2097152"}))
	b.answerCreatePartitions(growRequest(growTo("t", 3)))
	closeTopicBroker(t, b)
	b = openTopicBroker(t, dir)
	defer closeTopicBroker(t, b)
	topic, ok := b.Metadata.Image().TopicByID(id)
	if !ok || topic.Name() != "t" || topic.Len() != 3 {
		t.Errorf("the topic is %s with %d partitions", topic.Name(), topic.Len())
	}
	wantConfigs(t, b, metadata.ResourceTopic, "t", map[string]string{"flush.ms": "5", "segment.bytes": "2097152"})
}
