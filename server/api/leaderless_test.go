package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/raw"
)

// Partition 0 of a topic has no folder in a directory of Kafka's, so that nobody leads it. Kafka answers NOT_LEADER_OR_FOLLOWER (6)
// for a partition that is in the metadata and not on the broker, and names the leader, which here is none.
func TestAPartitionThatNobodyLeadsSendsClientsToLookForItsLeader(t *testing.T) {
	r := &groupRig{t: t, dir: t.TempDir(), log: new(raw.Log)}
	if err := os.Mkdir(filepath.Join(r.dir, "t-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(r.stop)
	for _, version := range []int16{9, 10, 13} {
		want := "6 -1 -1"
		if version >= 10 {
			want = "6 -1 0"
		}
		p := r.produce(version, "t", batch(today).Bytes())
		same(t, "produce", words(p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch), want)
	}
	for _, version := range []int16{4, 15, 17} {
		want := "6 -1 -1 -1"
		if version >= 16 {
			want = "6 -1 0 -1"
		}
		p := r.fetch(version, "t", 0)
		same(t, "fetch", words(p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, p.HighWatermark), want)
	}
	list := &kmsg.ListOffsetsRequest{Version: 7, ReplicaID: -1, Topics: []kmsg.ListOffsetsRequestTopic{{Topic: "t",
		Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: 99}}}}}
	same(t, "list offsets", ask[*kmsg.ListOffsetsResponse](r, list).Topics[0].Partitions[0].ErrorCode, 6)
	epoch := &kmsg.OffsetForLeaderEpochRequest{Version: 4, ReplicaID: -1, Topics: []kmsg.OffsetForLeaderEpochRequestTopic{
		{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: -1}}}}}
	same(t, "end of an epoch", ask[*kmsg.OffsetForLeaderEpochResponse](r, epoch).Topics[0].Partitions[0].ErrorCode, 6)
	remove := &kmsg.DeleteRecordsRequest{Version: 2, Topics: []kmsg.DeleteRecordsRequestTopic{
		{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 1}}}}}
	same(t, "delete records", ask[*kmsg.DeleteRecordsResponse](r, remove).Topics[0].Partitions[0].ErrorCode, 6)
	producers := &kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}}
	same(t, "producers", ask[*kmsg.DescribeProducersResponse](r, producers).Topics[0].Partitions[0].ErrorCode, 6)
}
