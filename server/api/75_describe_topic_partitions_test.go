package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func pageRequest(limit int32, topics ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	return req
}

func TestPagesOfAnySizeGiveEveryPartitionOnce(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("a", 3, 1), newTopic("b", 1, 1), newTopic("c", 5, 1))
	v := clientsOf(b, "PLAINTEXT")
	for _, topics := range [][]string{nil, {"c", "a", "b", "a"}, {"none", "c", "b", "a", "zzz"}} {
		for limit := int32(-1); limit <= 10; limit++ {
			for most := int32(1); most <= 4; most++ {
				got, pages := readPages(t, v, pageRequest(limit, topics...), most)
				want := "a0 a1 a2 b0 c0 c1 c2 c3 c4 "
				if len(topics) == 5 {
					want += "none! zzz! "
				}
				if got != want || pages > 12 {
					t.Errorf("%v, limit %d of at most %d: %s in %d pages", topics, limit, most, got, pages)
				}
			}
		}
	}
}

// readPages goes on until the cursor is at the end, and checks that no page is too large.
func readPages(t *testing.T, v *vantage, req *kmsg.DescribeTopicPartitionsRequest, most int32) (all string, pages int) {
	for pages = 1; ; pages++ {
		resp := parsed(t, v.answerDescribeTopicPartitions(req, most), 0)
		n := int32(0)
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				all += fmt.Sprint(*topic.Topic, p.Partition, " ")
				n++
			}
			if topic.ErrorCode != 0 {
				all += *topic.Topic + "! "
			}
		}
		if n > max(min(req.ResponsePartitionLimit, most), 1) {
			t.Fatalf("%d partitions on a page", n)
		}
		if resp.NextCursor == nil || pages > 20 {
			return all, pages
		}
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: resp.NextCursor.Topic, Partition: resp.NextCursor.Partition}
	}
}

func TestCursorsThatMakeNoSenseAreRefused(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("a", 2, 1), newTopic("b", 1, 1))
	for _, c := range []struct {
		topics    []string
		cursor    string
		partition int32
		code      int16
		found     int // partitions
	}{
		{[]string{"a", "b"}, "a", 1, 0, 2}, {[]string{"a", "b"}, "a", 2, 0, 1}, {[]string{"a", "b"}, "a", 1<<31 - 1, 0, 1},
		{[]string{"a", "b"}, "b", 0, 0, 1}, {[]string{"a", "b"}, "aa", 0, 42, 0}, {[]string{"a", "b"}, "a", -1, 42, 0},
		{nil, "a", 1, 0, 2}, {nil, "aa", 7, 0, 1}, {nil, "", 0, 0, 3}, {nil, "a", -1, 0, 0},
	} {
		req := pageRequest(100, c.topics...)
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: c.cursor, Partition: c.partition}
		found := 0
		for _, topic := range clientsOf(b, "PLAINTEXT").answerDescribeTopicPartitions(req, 2000).Topics {
			found += len(topic.Partitions)
			if topic.ErrorCode != c.code {
				t.Errorf("%v from %s-%d: error %d, want %d", c.topics, c.cursor, c.partition, topic.ErrorCode, c.code)
			}
		}
		if found != c.found {
			t.Errorf("%v from %s-%d: %d partitions, want %d", c.topics, c.cursor, c.partition, found, c.found)
		}
	}
}

func TestTopicsThatAreNotThereSayWhy(t *testing.T) {
	b := topicBroker(t)
	got := clientsOf(b, "PLAINTEXT").answerDescribeTopicPartitions(pageRequest(10, "a b", "none"), 2000).Topics
	if len(got) != 2 || got[0].ErrorCode != 17 || got[1].ErrorCode != 3 || got[1].AuthorizedOperations != 3576 {
		t.Errorf("%+v", got)
	}
	got = clientsOf(b, "PLAINTEXT").answerDescribeTopicPartitions(pageRequest(10, "none", ""), 2000).Topics
	if len(got) != 2 || got[0].ErrorCode != -1 || got[1].ErrorCode != -1 {
		t.Errorf("without a name: %+v", got)
	}
}
