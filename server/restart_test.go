package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
)

func TestARestartKeepsWhatThereWas(t *testing.T) {
	b := start(t, t.TempDir(), "offsets.topic.num.partitions=3")
	c := b.dial()
	id := c.create("t", 2, "retention.ms", "86400000")
	c.put("t", 0, batch("a", "b"))
	idempotent := func() *record.Builder {
		r := batch("c")
		r.ProducerID, r.ProducerEpoch, r.BaseSequence = 4711, 0, 0
		return r
	}
	same := idempotent()
	at := c.put("t", 0, same)
	if code := commit(c, "g", "t", 2); code != 0 {
		t.Fatalf("commit: error %d", code)
	}
	alter := &kmsg.IncrementalAlterConfigsRequest{Version: 1, Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "max.message.bytes", Value: kmsg.StringPtr("1000")}},
	}}}
	if got := ask[*kmsg.IncrementalAlterConfigsResponse](c, alter).Resources[0]; got.ErrorCode != 0 {
		t.Fatalf("alter: error %d", got.ErrorCode)
	}
	cluster := b.ClusterID()
	for restart := range 3 {
		b.stop()
		b = start(t, b.dir, "offsets.topic.num.partitions=3")
		c = b.dial()
		if b.ClusterID() != cluster {
			t.Errorf("cluster id %s, and was %s", b.ClusterID(), cluster)
		}
		meta := ask[*kmsg.MetadataResponse](c, &kmsg.MetadataRequest{Version: 12, Topics: []kmsg.MetadataRequestTopic{{TopicID: id}}}).Topics[0]
		if meta.ErrorCode != 0 || *meta.Topic != "t" || len(meta.Partitions) != 2 || meta.Partitions[0].LeaderEpoch != int32(restart)+1 {
			t.Errorf("restart %d: topic %+v", restart, meta)
		}
		if got := c.values("t"); !reflect.DeepEqual(got, []string{"a", "b", "c"}) {
			t.Errorf("restart %d: records %q", restart, got)
		}
		if got := c.put("t", 0, same); got != at {
			t.Errorf("restart %d: a batch that was sent before is at %d, and was at %d", restart, got, at)
		}
		if got := committed(c, "g", "t"); got != 2 {
			t.Errorf("restart %d: committed offset %d", restart, got)
		}
		large := produceRequest("t", 1, -1, batch(string(make([]byte, 2000))).Bytes())
		if got := ask[*kmsg.ProduceResponse](c, large).Topics[0].Partitions[0]; got.ErrorCode != 10 {
			t.Errorf("restart %d: a batch above max.message.bytes: error %d", restart, got.ErrorCode)
		}
	}
}

func commit(c client, group, topic string, offset int64) int16 {
	for {
		p := kmsg.OffsetCommitRequestTopicPartition{Offset: offset, LeaderEpoch: -1}
		req := &kmsg.OffsetCommitRequest{Version: 8, Group: group, Generation: -1, Topics: []kmsg.OffsetCommitRequestTopic{{
			Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}}
		if code := ask[*kmsg.OffsetCommitResponse](c, req).Topics[0].Partitions[0].ErrorCode; code != 14 { // loading
			return code
		}
	}
}

func committed(c client, group, topic string) int64 {
	c.t.Helper()
	for {
		req := &kmsg.OffsetFetchRequest{Version: 8, Groups: []kmsg.OffsetFetchRequestGroup{{
			Group: group, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}}}}
		switch g := ask[*kmsg.OffsetFetchResponse](c, req).Groups[0]; g.ErrorCode {
		case 14: // loading
		case 0:
			return g.Topics[0].Partitions[0].Offset
		default:
			c.t.Fatalf("offsets of %s: error %d", group, g.ErrorCode)
		}
	}
}

// A4: handles and files are the same after every restart, and those of clients that are gone come back.
func TestHandlesAndFilesDoNotGrowWithRestarts(t *testing.T) {
	const partitions = 100
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", partitions)
	for p := range int32(partitions) {
		c.put("t", p, batch("v"))
	}
	const some = 3 // handles that come and go: a calibration, a connection's duplicate
	files, handles := 0, 0
	for restart := range 4 {
		c.Close()
		b.stop()
		b = start(t, b.dir)
		c = b.dial()
		c.put("t", 0, batch("v"))
		f, _ := filepath.Glob(filepath.Join(b.dir, "t-*", "*"))
		h := openFiles(t)
		if restart > 0 && (len(f) != files || h > handles+some) {
			t.Errorf("restart %d: %d files and %d handles, were %d and %d", restart, len(f), h, files, handles)
		}
		if restart == 0 {
			files, handles = len(f), h
		}
	}
	for range 3 {
		var clients []client
		for i := range 100 {
			one := b.dial()
			if i%4 == 0 {
				fmt.Fprint(one, "\x00\x00\x00\x50half a frame")
			} else {
				ask[*kmsg.ApiVersionsResponse](one, &kmsg.ApiVersionsRequest{})
			}
			clients = append(clients, one)
		}
		for _, one := range clients {
			one.Close()
		}
	}
	for openFiles(t) > handles+some { // the broker notices in its own time; the test's time-out says if it does not
		ask[*kmsg.ApiVersionsResponse](c, &kmsg.ApiVersionsRequest{})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}
