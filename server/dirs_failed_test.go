package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

// mostBytes is how large a file may become while large writes fail.
const mostBytes = 600 << 10

// largeWritesFail has writes beyond mostBytes of a file fail from now on, in the whole process, until it is called again: one log is hit,
// and the others are not.
func largeWritesFail(t *testing.T) (again func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Prlimit(0, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: mostBytes, Max: unix.RLIM_INFINITY}, &was))
	again = func() { must(t, unix.Prlimit(0, unix.RLIMIT_FSIZE, &was, nil)) }
	t.Cleanup(again)
	return again
}

// large is a batch that no file takes then.
func large() []byte { return batch(string(bytes.Repeat([]byte("x"), mostBytes+100<<10))).Bytes() }

// until asks the broker again until something holds. The test's time-out says if never.
func until(holds func() bool) {
	for !holds() {
	}
}

func TestADirectoryThatFailsTakesItsPartitionsOfflineAndTheOthersGoOn(t *testing.T) {
	a, b := twoDirs(t)
	s := start(t, a+","+b, "zurau.metrics.listener=127.0.0.1:0")
	c, waiting := s.dial(), s.dial()
	p, other := c.inEach("t", b, "flush.messages", "1")
	gone, _ := c.inEach("gone", b)
	fetch := fetchRequest("t", 1, time.Hour)
	fetch.Topics[0].Partitions[0].Partition = p
	waiting.send(fetch)

	again := largeWritesFail(t)
	if err := c.code("t", p, large()); err != kerr.KafkaStorageError {
		t.Fatalf("the write that fails: %v", err)
	}
	if got := receive[*kmsg.FetchResponse](waiting, fetch).Topics[0].Partitions[0]; got.ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("a fetch that waited: error %d", got.ErrorCode)
	}
	until(func() bool { return c.leaderOf("t", p) != led })
	if got := c.leaderOf("t", p); got != offline {
		t.Errorf("t-%d: %s", p, got)
	}
	if err := c.code("t", p, batch("v").Bytes()); err != kerr.KafkaStorageError {
		t.Errorf("produce: %v", err)
	}
	if _, err := c.end("t", p); err != kerr.KafkaStorageError {
		t.Errorf("list offsets: %v", err)
	}
	if at := c.put("t", other, batch("v")); at != 1 || c.leaderOf("t", other) != led {
		t.Errorf("in the other directory the next record is at %d, led by %s", at, c.leaderOf("t", other))
	}
	c.create("new", 4)
	if dirs := c.logDirs(); dirs[b] != nil || len(dirs[a]) != 6 {
		t.Errorf("directories %v", dirs)
	}
	c.put("new", 3, batch("v"))
	grow := &kmsg.CreatePartitionsRequest{Version: 3, TimeoutMillis: 10_000, Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: "new", Count: 6}}}
	if got := ask[*kmsg.CreatePartitionsResponse](c, grow).Topics[0]; got.ErrorCode != 0 {
		t.Errorf("grow: error %d", got.ErrorCode)
	}
	drop := &kmsg.DeleteTopicsRequest{Version: 6, TimeoutMillis: 10_000, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("gone")}}}
	if got := ask[*kmsg.DeleteTopicsResponse](c, drop).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("delete: error %d", got.ErrorCode)
	}
	if status, text := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("health: %d %s", status, text)
	}
	_, text := s.get("/metrics")
	for _, line := range []string{`log_directory_up{dir="` + a + `"} 1`, `log_directory_up{dir="` + b + `"} 0`, `logs_offline 1`} {
		if !strings.Contains(text, "zurau_"+line) {
			t.Errorf("no line %s", line)
		}
	}
	if !strings.Contains(s.log.String(), "a log directory has failed: its partitions are offline, and the others go on") {
		t.Error("nobody was told")
	}
	s.stop() // in order, with nothing that was not said before
	if s.Err() != nil {
		t.Errorf("the broker ended with %v", s.Err())
	}

	again()
	next := start(t, a+","+b)
	c = next.dial()
	if dirs := c.logDirs(); len(dirs[b]) != 1 || len(dirs[a]) != 7 {
		t.Errorf("directories %v", dirs)
	}
	if at := c.put("t", p, batch("v")); at != 1 || c.leaderOf("t", p) != led {
		t.Errorf("t-%d goes on at %d, led by %s", p, at, c.leaderOf("t", p))
	}
	if !strings.Contains(next.log.String(), fmt.Sprint("log=gone-", gone)) {
		t.Error("the deletion was not finished")
	}
}

func TestTheBrokerEndsWithTheDirectoryOfItsMetadata(t *testing.T) {
	a, b := twoDirs(t)
	s := &broker{t: t, dir: a + "," + b, log: new(raw.Log)}
	var err error
	s.Server, err = inprocess.Try(t.Context(), s.dir, s.log)
	must(t, err)
	c := s.dial()
	p, other := c.inEach("t", a, "flush.messages", "1")
	again := largeWritesFail(t)
	if err := c.code("t", p, large()); err != kerr.KafkaStorageError {
		t.Fatalf("the write that fails: %v", err)
	}
	<-s.Done()
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "log directory "+a+" has failed") {
		t.Errorf("the reason is %v", s.Err())
	}
	if s.Close(t.Context()) == nil {
		t.Error("closed as if in order")
	}
	again()
	c = start(t, s.dir).dial()
	for _, one := range []int32{p, other} {
		if at := c.put("t", one, batch("v")); at != 1 {
			t.Errorf("t-%d goes on at %d", one, at)
		}
	}
}

// Groups whose partition is offline have no coordinator until it is back; the others are where they were.
func TestGroupsOfADirectoryThatFailsAreNobodys(t *testing.T) {
	a, b := twoDirs(t)
	s := start(t, a+","+b, "offsets.topic.num.partitions=2")
	c := s.dial()
	find := func(group string) int16 {
		return ask[*kmsg.FindCoordinatorResponse](c, &kmsg.FindCoordinatorRequest{Version: 4, CoordinatorKeys: []string{group}}).Coordinators[0].ErrorCode
	}
	until(func() bool { return find("one") == 0 })
	p, _ := c.inEach("t", b)
	at := func(group string) string {
		for _, dir := range []string{a, b} {
			logs := c.logDirs()[dir]
			if slices.Contains(logs, fmt.Sprint("__consumer_offsets-", partitionOf(group, 2))) {
				return dir
			}
		}
		return ""
	}
	groups := map[string]string{} // by directory
	for i := 0; len(groups) < 2; i++ {
		name := fmt.Sprint("group-", i)
		groups[at(name)] = name
	}
	commit := func(group string) int16 {
		return ask[*kmsg.OffsetCommitResponse](c, &kmsg.OffsetCommitRequest{Version: 8, Group: group, Generation: -1,
			Topics: []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 17}}}},
		}).Topics[0].Partitions[0].ErrorCode
	}
	for _, group := range groups {
		until(func() bool { return commit(group) == 0 })
	}
	again := largeWritesFail(t)
	c.code("t", p, large())
	until(func() bool { return c.logDirs()[b] == nil && find(groups[b]) != 0 })
	if got := find(groups[b]); got != kerr.CoordinatorNotAvailable.Code {
		t.Errorf("find: error %d", got)
	}
	if got := commit(groups[b]); got != kerr.NotCoordinator.Code {
		t.Errorf("commit: error %d", got)
	}
	if find(groups[a]) != 0 || commit(groups[a]) != 0 || committed(c, groups[a], "t") != 17 {
		t.Error("the other group has lost its coordinator")
	}
	s.stop()
	again()
	c = start(t, a+","+b).dial()
	for _, group := range groups {
		if got := committed(c, group, "t"); got != 17 {
			t.Errorf("%s is at %d after a start", group, got)
		}
	}
}

// partitionOf is Kafka's hash of a group over n partitions: Java's of a string, which is of letters here.
func partitionOf(group string, n int32) int32 {
	var h int32
	for _, b := range []byte(group) {
		h = 31*h + int32(b)
	}
	return h & 0x7fffffff % n
}

// The disk of the metadata is full when another directory fails: clients are told that its partitions have no leader once there is room.
func TestADirectoryThatFailsIsToldOfWhenTheMetadataHasRoomAgain(t *testing.T) {
	a, b := twoDirs(t)
	smallDisk(t, a, 48<<20)
	smallDisk(t, b, 48<<20)
	s := start(t, a+","+b, "metadata.log.dir="+a, "zurau.reserve.bytes=1048576", "zurau.stage.bytes=0", "zurau.zero.ahead.bytes=0")
	c := s.dial()
	p, other := c.inEach("t", b, "flush.messages", "1")
	fill, err := os.Create(filepath.Join(a, "fill"))
	must(t, err)
	defer fill.Close()
	var st unix.Statfs_t
	must(t, unix.Statfs(a, &st))
	must(t, unix.Fallocate(int(fill.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-200<<10))
	again := largeWritesFail(t)
	if err := c.code("t", p, large()); err != kerr.KafkaStorageError {
		t.Fatalf("the write that fails: %v", err)
	}
	again()
	until(func() bool {
		return strings.Contains(s.log.String(), "clients are not told that partitions have no leader")
	})
	if got := c.leaderOf("t", p); got != led {
		t.Errorf("before it could be told: %s", got)
	}
	must(t, fill.Truncate(0))
	until(func() bool { return c.leaderOf("t", p) == offline })
	if got := c.leaderOf("t", other); got != led {
		t.Errorf("the other one: %s", got)
	}
}
