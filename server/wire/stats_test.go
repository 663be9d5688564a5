package wire

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/netio"
)

func TestAHistogramCountsUpToItsBounds(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{-1, 0, 1, firstBucket, firstBucket + 1, 2 * firstBucket, time.Minute, 1 << 62} {
		h.Observe(d)
	}
	count, _, upTo := h.Snapshot()
	bounds := slices.Sorted(maps.Keys(upTo))
	if count != 8 || len(bounds) != buckets || bounds[0] != 0.0001 || bounds[buckets-1] != 26.2144 {
		t.Errorf("%d counted, bounds %v", count, bounds)
	}
	if upTo[0.0001] != 4 || upTo[0.0002] != 6 || upTo[26.2144] != 6 {
		t.Errorf("%v", upTo)
	}
}

// Errors of an answer are wherever its structure has a field of that name.
func TestWhatIsServedIsCounted(t *testing.T) {
	gate, started := gated(0, true)
	handlers := []Handler{gate, answering(18), {Key: 19, Max: 7, Serve: func(r *Request) error {
		resp := kmsg.NewPtrCreateTopicsResponse()
		for _, code := range []int16{36, 36, 0, -1, 1000} {
			resp.Topics = append(resp.Topics, kmsg.CreateTopicsResponseTopic{Topic: "t", ErrorCode: code})
		}
		r.Reply(resp)
		return nil
	}}}
	table := NewTable(handlers...)
	stats := NewStats(table)
	r := newRigServing(t, netio.Options{}, &Server{Table: table, Stats: stats})
	c := r.dial()
	c.send(append(frameHeader(19, 2, 1), make([]byte, 9)...), frameHeader(18, 0, 2), frameHeader(0, 0, 3))
	_, topics := c.receive()
	c.receive()
	q := <-started
	q.Failed(6)
	q.Skip()
	c.wantAlive("after requests that were counted")
	for key, want := range map[int16]struct {
		requests uint64
		in, out  int64
		errors   map[int16]uint64
	}{
		0:  {1, 14, 0, map[int16]uint64{6: 1}},
		18: {2, 28, 0, nil},
		19: {1, 23, int64(8 + len(topics)), map[int16]uint64{36: 2, -1: 1}},
	} {
		k := stats.byKey[key]
		requests, _, _ := k.Latency.Snapshot()
		if requests != want.requests || k.In.Load() != want.in || key != 18 && k.Out.Load() != want.out || key == 18 && k.Out.Load() == 0 ||
			!maps.Equal(maps.Collect(k.Errors()), want.errors) {
			t.Errorf("key %d: %d requests, %d bytes in, %d out, errors %v", key, requests, k.In.Load(), k.Out.Load(), maps.Collect(k.Errors()))
		}
	}
}

// Every API of Kafka's whose answers have error codes has them found.
func TestErrorCodesAreFoundInEveryAnswer(t *testing.T) {
	for key, want := range map[int16]int{2: 1, 3: 3, 8: 1, 9: 4, 10: 2, 11: 1, 15: 1, 20: 1, 22: 1, 32: 1, 35: 2, 44: 1, 47: 2, 60: 1, 75: 2} {
		if got := fields(NewStats(NewTable(answering(key))).byKey[key].codes); got != want {
			t.Errorf("%s: %d fields, want %d", kmsg.NameForKey(key), got, want)
		}
	}
}

func fields(c *codes) (n int) {
	n = len(c.own)
	for _, l := range c.lists {
		n += fields(l.codes)
	}
	return n
}
