package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
)

func deleteRequest(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.Topics = 6, topics
	return req
}

func byName(name string) kmsg.DeleteTopicsRequestTopic {
	return kmsg.DeleteTopicsRequestTopic{Topic: &name}
}

func byID(id metadata.ID) kmsg.DeleteTopicsRequestTopic {
	return kmsg.DeleteTopicsRequestTopic{TopicID: id}
}

func TestTopicsAreDeletedByNameAndByID(t *testing.T) {
	b := topicBroker(t)
	ids := mustCreate(t, b, newTopic("a", 1, 1), newTopic("b", 1, 1), newTopic("c", 1, 1))
	resp := b.answerDeleteTopics(deleteRequest(byName("a"), byID(ids[1])))
	for _, topic := range resp.Topics {
		if topic.ErrorCode != 0 || topic.Topic == nil || topic.TopicID == [16]byte{} {
			t.Errorf("%+v", topic)
		}
	}
	wantTopics(t, b, "c")
}

func TestOldVersionsDeleteByName(t *testing.T) {
	b := topicBroker(t)
	for version := int16(1); version < 6; version++ {
		mustCreate(t, b, newTopic("a", 1, 1))
		req := deleteRequest()
		req.Version, req.TopicNames = version, []string{"a", "none"}
		resp := parsed(t, b.answerDeleteTopics(req), version)
		codes := map[string]int16{}
		for _, topic := range resp.Topics {
			codes[*topic.Topic] = topic.ErrorCode
		}
		if len(codes) != 2 || codes["a"] != 0 || codes["none"] != 3 {
			t.Errorf("version %d: codes %v", version, codes)
		}
		wantTopics(t, b)
	}
}

func TestDeletionsThatMakeNoSenseDeleteNothing(t *testing.T) {
	b := topicBroker(t)
	id := mustCreate(t, b, newTopic("a", 1, 1))[0]
	both := byName("a")
	both.TopicID = id
	for _, c := range []struct {
		name   string
		topics []kmsg.DeleteTopicsRequestTopic
		want   []int16
	}{
		{"unknown name", []kmsg.DeleteTopicsRequestTopic{byName("none")}, []int16{3}},
		{"bad name", []kmsg.DeleteTopicsRequestTopic{byName("../x")}, []int16{3}},
		{"unknown id", []kmsg.DeleteTopicsRequestTopic{byID(metadata.ID{1})}, []int16{100}},
		{"neither name nor id", []kmsg.DeleteTopicsRequestTopic{{}}, []int16{42}},
		{"name and id", []kmsg.DeleteTopicsRequestTopic{both}, []int16{42}},
		{"name twice", []kmsg.DeleteTopicsRequestTopic{byName("a"), byName("a")}, []int16{42}},
		{"unknown name twice", []kmsg.DeleteTopicsRequestTopic{byName("none"), byName("none")}, []int16{42}},
		{"id twice", []kmsg.DeleteTopicsRequestTopic{byID(id), byID(id), byID(id)}, []int16{42}},
		{"by name and by id", []kmsg.DeleteTopicsRequestTopic{byName("a"), byID(id)}, []int16{42}},
		{"by name and by id twice", []kmsg.DeleteTopicsRequestTopic{byName("a"), byID(id), byID(id)}, []int16{42, 42}},
	} {
		resp := b.answerDeleteTopics(deleteRequest(c.topics...))
		if len(resp.Topics) != len(c.want) {
			t.Errorf("%s: %d answers, want %d", c.name, len(resp.Topics), len(c.want))
			continue
		}
		for i, topic := range resp.Topics {
			if topic.ErrorCode != c.want[i] || topic.ErrorMessage == nil {
				t.Errorf("%s: %+v, want error %d", c.name, topic, c.want[i])
			}
		}
	}
	wantTopics(t, b, "a")
}

// Fault A24: what belongs to the old topic is not the new one's.
func TestTopicThatIsMadeAgainIsAnotherOne(t *testing.T) {
	b := topicBroker(t)
	old := mustCreate(t, b, newTopic("t", 4, 1, "retention.ms", "5"))[0]
	b.answerDeleteTopics(deleteRequest(byName("t")))
	id := mustCreate(t, b, newTopic("t", 2, 1))[0]
	if id == old {
		t.Error("the new topic has the old one's id")
	}
	wantPartitions(t, b, "t", 2)
	wantConfigs(t, b, metadata.ResourceTopic, "t", nil)
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = 12, []kmsg.MetadataRequestTopic{{TopicID: old}, {TopicID: id}}
	got := clientsOf(b, "PLAINTEXT").answerMetadata(req, 1).Topics
	if len(got) != 2 || got[0].ErrorCode != 100 || got[1].ErrorCode != 0 || *got[1].Topic != "t" {
		t.Errorf("%+v", got)
	}
	if got := b.answerDeleteTopics(deleteRequest(byID(old))).Topics[0].ErrorCode; got != 100 {
		t.Errorf("deleting the old id: error %d, want 100", got)
	}
	wantTopics(t, b, "t")
}

func TestDeletionCanBeDisabled(t *testing.T) {
	b := topicBroker(t, "delete.topic.enable=false")
	mustCreate(t, b, newTopic("a", 1, 1))
	for version, want := range map[int16]int16{1: 42, 2: 42, 3: 73, 6: 73} {
		req := deleteRequest(byName("a"))
		req.Version, req.TopicNames = version, []string{"a"}
		if got := b.answerDeleteTopics(req).Topics[0].ErrorCode; got != want {
			t.Errorf("version %d: error %d, want %d", version, got, want)
		}
	}
	wantTopics(t, b, "a")
}
