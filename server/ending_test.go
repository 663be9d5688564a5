package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

// writesFail has every write to a file fail from now on, in the whole process, until it is called again.
func writesFail(t *testing.T) (again func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &unix.Rlimit{Max: unix.RLIM_INFINITY}, &was); err != nil {
		t.Fatal(err)
	}
	again = func() {
		if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &was, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(again)
	return again
}

// Whoever started the broker hears of it, and decides when it is closed: until then what is flushed is served.
func TestAFailedDirectoryEndsTheBrokerAndIsServedUntilClose(t *testing.T) {
	b := &broker{t: t, dir: t.TempDir(), log: new(raw.Log)}
	var err error
	if b.Server, err = inprocess.Try(t.Context(), b.dir, b.log); err != nil {
		t.Fatal(err)
	}
	c := b.dial()
	c.create("t", 1, "flush.messages", "1")
	c.put("t", 0, batch("flushed"))
	if b.Err() != nil {
		t.Errorf("before: %v", b.Err())
	}
	again := writesFail(t)
	got := ask[*kmsg.ProduceResponse](c, produceRequest("t", 0, -1, batch("lost").Bytes())).Topics[0].Partitions[0]
	if got.ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("produce: error %d", got.ErrorCode)
	}
	<-b.Done()
	again() // the disk works again: it does not matter
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), b.dir) || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("the reason is %v", err)
	}
	if got := c.values("t"); !slices.Equal(got, []string{"flushed"}) {
		t.Errorf("served: %q", got)
	}
	create := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: 10_000,
		Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "new", NumPartitions: 1, ReplicationFactor: 1}}}
	if got := ask[*kmsg.CreateTopicsResponse](c, create).Topics[0]; got.ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("create: error %d", got.ErrorCode)
	}
	reason := b.Err()
	if err := b.Close(t.Context()); err == nil {
		t.Error("a broker that has failed was closed as if in order")
	}
	if b.Err() != reason {
		t.Errorf("after Close the reason is %v", b.Err())
	}
	next := start(t, b.dir)
	if got := next.dial().values("t"); !slices.Equal(got, []string{"flushed"}) {
		t.Errorf("after a start: %q", got)
	}
	next.stop()
	if next.Err() != nil {
		t.Errorf("after an orderly stop the reason is %v", next.Err())
	}
}
