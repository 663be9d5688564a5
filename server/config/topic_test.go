package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATopicWithNothingSetHasKafkasDefaults(t *testing.T) {
	const day = 24 * hour
	const forever = 1<<63 - 1
	want := Topic{
		SegmentBytes: 1 << 30, SegmentMs: 7 * day, SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		RetentionMs: 7 * day, RetentionBytes: -1, FileDeleteDelayMs: minute, Delete: true,
		MinCleanableDirtyRatio: 0.5, MaxCompactionLagMs: forever, DeleteRetentionMs: day,
		FlushMessages: forever, FlushMs: forever,
		MaxMessageBytes: 1048588, MaxDecompressedMessageBytes: 2147483639, TimestampBeforeMaxMs: forever, TimestampAfterMaxMs: hour,
		CompressionType: "producer", GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3, MinInsyncReplicas: 1, Writer: "auto",
	}
	if d := cmp.Diff(want, EffectiveTopic(nil, nil, nil, nil)); d != "" {
		t.Error(d)
	}
}

func TestTheNearestLayerDecides(t *testing.T) {
	static := load(t, Options{Set: []string{"log.segment.bytes=2000000", "log.retention.hours=1", "log.flush.scheduler.interval.ms=9"}})
	byDefault := map[string]string{"log.segment.bytes": "3000000", "log.retention.bytes": "-5"}
	byBroker := map[string]string{"log.segment.bytes": "4000000"}
	own := map[string]string{"segment.bytes": " 5000000 ", "cleanup.policy": "compact", "flush.messages": "1"}
	for _, c := range []struct {
		topic Topic
		want  int32
	}{
		{EffectiveTopic(nil, nil, nil, static), 2000000},
		{EffectiveTopic(nil, nil, byDefault, static), 3000000},
		{EffectiveTopic(nil, byBroker, byDefault, static), 4000000},
		{EffectiveTopic(own, byBroker, byDefault, static), 5000000},
	} {
		if c.topic.SegmentBytes != c.want {
			t.Errorf("got %d, want %d", c.topic.SegmentBytes, c.want)
		}
	}
	if c := EffectiveTopic(own, byBroker, byDefault, static); c.RetentionMs != hour || c.RetentionBytes != -5 || c.FlushMs != 9 ||
		!c.Compact || c.Delete || !c.Sync() {
		t.Errorf("%+v", c)
	}
}

func TestTheFinestUnitThatIsSetCounts(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want int64
	}{
		{[]string{"log.retention.hours=1"}, hour},
		{[]string{"log.retention.hours=1", "log.retention.minutes=2"}, 2 * minute},
		{[]string{"log.retention.hours=1", "log.retention.minutes=2", "log.retention.ms=3"}, 3},
		{[]string{"log.retention.hours=-1"}, -1},
		{[]string{"log.retention.minutes=-7"}, -1},
		{[]string{"log.retention.hours=2147483647"}, 2147483647 * hour},
	} {
		if got := EffectiveTopic(nil, nil, nil, load(t, Options{Set: c.set})).RetentionMs; got != c.want {
			t.Errorf("%v: got %d, want %d", c.set, got, c.want)
		}
	}
	// A dynamic value in milliseconds is over hours in the file.
	dynamic := map[string]string{"log.retention.ms": "5"}
	if got := EffectiveTopic(nil, nil, dynamic, load(t, Options{Set: []string{"log.retention.hours=1"}})).RetentionMs; got != 5 {
		t.Errorf("got %d", got)
	}
}

func TestAValueThatCannotBeIsAsIfItWereNotThere(t *testing.T) {
	dynamic := map[string]string{"log.segment.bytes": "many"}
	static := load(t, Options{Set: []string{"log.segment.bytes=2000000"}})
	if c := EffectiveTopic(map[string]string{"segment.bytes": "1"}, dynamic, nil, static); c.SegmentBytes != 2000000 {
		t.Errorf("%d", c.SegmentBytes)
	}
}

func TestATestMayMakeSegmentsSmallerThanIsAllowed(t *testing.T) {
	if c := EffectiveTopic(map[string]string{"internal.segment.bytes": "100"}, nil, nil, nil); c.SegmentBytes != 100 {
		t.Errorf("%d", c.SegmentBytes)
	}
}

func TestCodecsHaveTheirLevels(t *testing.T) {
	c := EffectiveTopic(map[string]string{"compression.type": "zstd", "compression.zstd.level": "-5"}, nil, nil, nil)
	for codec, want := range map[string]int32{"zstd": -5, "gzip": -1, "lz4": 9, "snappy": 0, "producer": 0} {
		if got := c.CompressionLevel(codec); got != want {
			t.Errorf("%s: %d", codec, got)
		}
	}
}

func TestAGroupStaysInItsBrokersBounds(t *testing.T) {
	own := map[string]string{"consumer.session.timeout.ms": "50000"}
	if g := (Layers{}).Group(own); g != (Group{50000, 5000, 1000}) {
		t.Errorf("%+v", g)
	}
	static := load(t, Options{Set: []string{"group.consumer.max.session.timeout.ms=46000"}})
	if g := (Layers{Static: static}).Group(own); g.SessionMs != 46000 {
		t.Errorf("%+v", g)
	}
}
