package api_test

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestATimeFindsTheFirstRecordAtOrAfterIt, with the record's own time, and nothing behind the last.
func TestATimeFindsTheFirstRecordAtOrAfterIt(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	for _, time := range []int64{2, 4, 6, 8} {
		same(t, "produce", r.put("t", batch(time)), 0)
	}
	none := found{offset: -1, time: -1, epoch: -1}
	for _, version := range []int16{1, 11} {
		epoch := int32(0)
		if version < 4 {
			epoch = -1
		}
		for time := int64(0); time <= 10; time++ {
			want := none
			if n := max((time-1)/2, 0); time <= 8 {
				want = found{offset: n, time: 2*n + 2, epoch: epoch}
			}
			same(t, words("v", version, "time", time), r.at(version, "t", time), want)
		}
	}
	same(t, "produce", r.put("t", batch(10, 30, 20, 30)), 0)
	same(t, "the greatest time", r.at(11, "t", -3), found{offset: 5, time: 30})
	same(t, "time 11", r.at(11, "t", 11), found{offset: 5, time: 30})
	low, code := r.deleteTo("t", 3)
	same(t, "delete", words(low, code), "3 0")
	same(t, "time 2 after the deletion", r.at(11, "t", 2), found{offset: 3, time: 8})
	same(t, "earliest after the deletion", r.at(11, "t", -2), found{offset: 3, time: -1})
	r.restart()
	same(t, "time 2 after a restart", r.at(11, "t", 2), found{offset: 3, time: 8})
	same(t, "the greatest time after a restart", r.at(11, "t", -3), found{offset: 5, time: 30})

	r.create("empty")
	same(t, "latest of nothing", r.at(11, "empty", -1), found{offset: 0, time: -1})
	same(t, "earliest of nothing", r.at(11, "empty", -2), found{offset: 0, time: -1})
	same(t, "the greatest time of nothing", r.at(11, "empty", -3), none)
	same(t, "time 5 of nothing", r.at(11, "empty", 5), none)
}

func TestTheGreatestTimeMayHaveBeenDeleted(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "produce", r.put("t", batch(30)), 0)
	same(t, "produce", r.put("t", batch(10)), 0)
	_, code := r.deleteTo("t", 2)
	same(t, "delete", code, 0)
	same(t, "the greatest time", r.at(11, "t", -3), found{offset: -1, time: -1, epoch: -1})
}

func TestNegativeTimesCameWithVersions(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "produce", r.put("t", batch(5)), 0)
	unsupported := found{offset: -1, time: -1, code: kerr.UnsupportedVersion.Code, epoch: -1}
	for time, c := range map[int64]struct {
		since  int16
		offset int64
		time   int64
	}{-1: {1, 1, -1}, -2: {1, 0, -1}, -3: {7, 0, 5}, -4: {8, 0, -1}, -5: {9, -1, -1}, -6: {11, -1, -1}, -7: {12, 0, 0}, -1 << 63: {12, 0, 0}} {
		for version := int16(1); version <= 11; version++ {
			got := r.at(version, "t", time)
			want := unsupported
			if version >= c.since {
				want = found{offset: c.offset, time: c.time, epoch: got.epoch}
			}
			same(t, words("v", version, "time", time), got, want)
		}
	}
}

func TestListOffsetsRefusesPartitionByPartition(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "unknown topic", r.at(11, "x", -1).code, kerr.UnknownTopicOrPartition.Code)
	twice := ask[*kmsg.ListOffsetsResponse](r, offsetsAt(11, "t", -1, -2)).Topics[0].Partitions
	same(t, "twice", words(len(twice), twice[0].ErrorCode), words(1, kerr.InvalidRequest.Code))
	req := offsetsAt(11, "t", -1)
	req.IsolationLevel = 2
	same(t, "isolation 2", ask[*kmsg.ListOffsetsResponse](r, req).Topics[0].Partitions[0].ErrorCode, kerr.UnknownServerError.Code)
	r.restart() // leader epoch 1
	for epoch, code := range map[int32]int16{-1: 0, 1: 0, 0: kerr.FencedLeaderEpoch.Code, 2: kerr.UnknownLeaderEpoch.Code} {
		req := offsetsAt(11, "t", -1)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		same(t, words("epoch", epoch), ask[*kmsg.ListOffsetsResponse](r, req).Topics[0].Partitions[0].ErrorCode, code)
	}
}

func TestEpochsEndWhereTheNextBegins(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	same(t, "produce", r.put("t", batch(1, 2, 3)), 0)
	r.restart()
	same(t, "produce", r.put("t", batch(4)), 0)
	end := func(current, epoch int32) string {
		req := &kmsg.OffsetForLeaderEpochRequest{Version: 4, ReplicaID: -1, Topics: []kmsg.OffsetForLeaderEpochRequestTopic{
			{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{CurrentLeaderEpoch: current, LeaderEpoch: epoch}}}}}
		p := ask[*kmsg.OffsetForLeaderEpochResponse](r, req).Topics[0].Partitions[0]
		return words(p.LeaderEpoch, p.EndOffset, p.ErrorCode)
	}
	same(t, "epoch 0", end(1, 0), "0 3 0")
	same(t, "epoch 1", end(-1, 1), "1 4 0")
	same(t, "epoch 2", end(-1, 2), "-1 -1 0")
	same(t, "epoch -1", end(-1, -1), "-1 -1 0")
	same(t, "an old leader", end(0, 0), words(-1, -1, kerr.FencedLeaderEpoch.Code))
	same(t, "a leader to come", end(2, 0), words(-1, -1, kerr.UnknownLeaderEpoch.Code))
}

func TestDeleteRecordsRefuses(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	r.create("compacted", "cleanup.policy", "compact")
	r.create("both", "cleanup.policy", "compact,delete")
	same(t, "commit", r.commit("g", "t", 1, ""), 0) // makes __consumer_offsets
	for _, topic := range []string{"t", "compacted", "both"} {
		same(t, "produce", r.put(topic, batch(1, 2)), 0)
	}
	for _, c := range []struct {
		topic  string
		offset int64
		low    int64
		code   int16
	}{
		{"t", 3, -1, kerr.OffsetOutOfRange.Code}, {"t", -2, -1, kerr.OffsetOutOfRange.Code}, {"t", 1, 1, 0}, {"t", 0, 1, 0}, {"t", -1, 2, 0},
		{"compacted", 1, -1, kerr.PolicyViolation.Code}, {"both", 1, 1, 0}, {"x", 0, -1, kerr.UnknownTopicOrPartition.Code},
		{"__consumer_offsets", 0, -1, kerr.InvalidTopicException.Code},
	} {
		low, code := r.deleteTo(c.topic, c.offset)
		same(t, words(c.topic, c.offset), words(low, code), words(c.low, c.code))
	}
	req := &kmsg.DeleteRecordsRequest{Version: 2, TimeoutMillis: -1, Topics: []kmsg.DeleteRecordsRequestTopic{
		{Topic: "both", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 99}}},
		{Topic: "t"},
		{Topic: "both", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 2}}},
	}}
	topics := ask[*kmsg.DeleteRecordsResponse](r, req).Topics
	same(t, "twice", words(len(topics), topics[0].Topic, topics[0].Partitions[0].LowWatermark), "1 both 2")
}

// TestAProducerGoesOnAfterItsRecordsWereDeleted: what is known of it does not go with them, nor with a restart.
func TestAProducerGoesOnAfterItsRecordsWereDeleted(t *testing.T) {
	r := newGroupRig(t)
	r.create("t")
	id := ask[*kmsg.InitProducerIDResponse](r, kmsg.NewPtrInitProducerIDRequest()).ProducerID
	for i := range int32(5) {
		same(t, "produce", r.put("t", batch(today).Producer(id, 0, i)), 0)
	}
	low, _ := r.deleteTo("t", -1)
	same(t, "low watermark", low, 5)
	same(t, "the next sequence", r.put("t", batch(today).Producer(id, 0, 5)), 0)
	_, code := r.deleteTo("t", -1)
	same(t, "delete", code, 0)
	r.restart()
	same(t, "the next sequence after a restart", r.put("t", batch(today).Producer(id, 0, 6)), 0)
	same(t, "a gap", r.put("t", batch(today).Producer(id, 0, 9)), kerr.OutOfOrderSequenceNumber.Code)
}

func TestLogDirectoriesAreDescribed(t *testing.T) {
	r := newGroupRig(t)
	r.create("a")
	r.create("b")
	same(t, "produce", r.put("a", batch(1)), 0)
	describe := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) kmsg.DescribeLogDirsResponseDir {
		resp := ask[*kmsg.DescribeLogDirsResponse](r, &kmsg.DescribeLogDirsRequest{Version: version, Topics: topics})
		same(t, "directories", len(resp.Dirs), 1)
		return resp.Dirs[0]
	}
	all := describe(5, nil)
	dir, _ := filepath.Abs(r.dir)
	same(t, "directory", words(all.Dir, all.ErrorCode, all.IsCordoned), words(dir, 0, false))
	same(t, "topics", words(len(all.Topics), all.Topics[0].Topic, all.Topics[1].Topic), "2 a b")
	same(t, "size of a", all.Topics[0].Partitions[0].Size, int64(len(batch(1).Bytes())))
	same(t, "size of b", all.Topics[1].Partitions[0].Size, 0)
	if all.TotalBytes <= 0 || all.UsableBytes < 0 || all.UsableBytes > all.TotalBytes {
		t.Errorf("%d bytes of %d are free", all.UsableBytes, all.TotalBytes)
	}
	same(t, "before v4", describe(3, nil).TotalBytes, -1)
	some := describe(4, []kmsg.DescribeLogDirsRequestTopic{
		{Topic: "a", Partitions: []int32{0, 7, 0}}, {Topic: "x", Partitions: []int32{0}}, {Topic: "b"}, {Topic: "a", Partitions: []int32{0}}})
	same(t, "some", words(len(some.Topics), some.Topics[0].Topic, len(some.Topics[0].Partitions)), "1 a 1")
	same(t, "none", len(describe(4, []kmsg.DescribeLogDirsRequestTopic{}).Topics), 0)
}

func TestProducerIDsAreGivenOnce(t *testing.T) {
	r := newGroupRig(t)
	const clients, each = 4, 600 // more than two blocks
	ids := make(chan int64, clients*each)
	done := make(chan struct{})
	for range clients {
		c := r.dial()
		go func() {
			defer func() { done <- struct{}{} }()
			for range each {
				resp := exchange[*kmsg.InitProducerIDResponse](r, c, kmsg.NewPtrInitProducerIDRequest())
				if resp.ErrorCode != 0 || resp.ProducerEpoch != 0 {
					t.Errorf("code %d, epoch %d", resp.ErrorCode, resp.ProducerEpoch)
				}
				ids <- resp.ProducerID
			}
		}()
	}
	for range clients {
		<-done
	}
	close(ids)
	seen := map[int64]bool{}
	for id := range ids {
		if id < 0 || seen[id] {
			t.Fatalf("producer id %d again", id)
		}
		seen[id] = true
	}
	r.restart()
	if id := ask[*kmsg.InitProducerIDResponse](r, kmsg.NewPtrInitProducerIDRequest()).ProducerID; seen[id] {
		t.Errorf("producer id %d again after a restart", id)
	}
}

func TestInitProducerIDRefuses(t *testing.T) {
	r := newGroupRig(t)
	name, empty := "tx", ""
	for _, c := range []struct {
		id      *string
		timeout int32
		pid     int64
		epoch   int16
		code    int16
	}{
		{nil, 0, -1, -1, 0}, {nil, 0, 5, 3, 0}, {nil, 0, 5, -1, kerr.InvalidRequest.Code}, {nil, 0, -1, 3, kerr.InvalidRequest.Code},
		{&empty, 1000, -1, -1, kerr.InvalidRequest.Code}, {&empty, 0, -1, -1, kerr.InvalidRequest.Code},
		{&name, 0, -1, -1, kerr.InvalidTransactionTimeout.Code}, {&name, -1, -1, -1, kerr.InvalidTransactionTimeout.Code},
		{&name, 900_001, -1, -1, kerr.InvalidTransactionTimeout.Code}, {&name, 900_000, -1, -1, 0},
	} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 4, c.id, c.timeout, c.pid, c.epoch
		same(t, words(c), ask[*kmsg.InitProducerIDResponse](r, req).ErrorCode, c.code)
	}
	for version, code := range map[int16]int16{3: kerr.InvalidProducerEpoch.Code, 4: kerr.ProducerFenced.Code} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = version, &name, 1000, 1, 17
		same(t, words("fenced in v", version), ask[*kmsg.InitProducerIDResponse](r, req).ErrorCode, code)
	}
}
