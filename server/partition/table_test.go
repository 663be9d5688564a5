package partition

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
)

func TestATopicIsThereWhenTheUpdateReturns(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 3)
	if r.table.ByID([16]byte{1}) != topic || r.table.ByNameBytes([]byte("t")) != topic {
		t.Error("the topic is not found in every way")
	}
	for i, p := range topic.Partitions() {
		if p.Log == nil || p.ID != int32(i) || p.Log.Name() != (engine.Name{Topic: "t", Partition: int32(i)}) {
			t.Fatalf("partition %d is %+v", i, p)
		}
		if a := r.append(p, "v"); a.Err != nil || a.BaseOffset != 0 {
			t.Errorf("append to partition %d: %+v", i, a)
		}
	}
	for _, i := range []int32{-1, 3, 1<<31 - 1, -1 << 31} {
		if topic.Partition(i) != nil {
			t.Errorf("there is a partition %d", i)
		}
	}
}

func TestPartitionsAreAddedToATopicInUse(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 1)
	r.append(topic.Partition(0), "v")
	r.update(partitionRecord(1, 1), partitionRecord(1, 2))
	if r.table.ByName("t") != topic || len(topic.Partitions()) != 3 {
		t.Fatalf("%d partitions", len(topic.Partitions()))
	}
	if a := r.append(topic.Partition(2), "v"); a.Err != nil {
		t.Error(a.Err)
	}
	if end := topic.Partition(0).Log.LogEndOffset(); end != 1 {
		t.Errorf("partition 0 ends at %d", end)
	}
}

func TestADeletedTopicIsGoneWhenTheUpdateReturns(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 2)
	log := topic.Partition(0).Log
	r.append(topic.Partition(0), "v")
	b := make(bell, 2)
	topic.Partition(0).Await(b)
	topic.Partition(1).Await(b)
	r.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	if r.table.ByName("t") != nil || r.table.ByID([16]byte{1}) != nil || len(r.engine.Logs()) != 0 {
		t.Error("the topic is still there")
	}
	if _, err := log.Read(0, 100, true); !errors.Is(err, engine.ErrDeleted) {
		t.Errorf("read of a deleted log: %v", err)
	}
	if len(b) != 2 {
		t.Errorf("%d of 2 waiters were woken", len(b))
	}
}

func TestATopicMadeAgainHasNothingOfTheOldOne(t *testing.T) {
	r := newRig(t)
	old := r.create("t", 1, 2)
	r.append(old.Partition(0), "old")
	r.update(topicConfig("t", "retention.ms", "5"))
	r.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	topic := r.create("t", 2, 1)
	if topic == old || topic.Partition(0).Log == old.Partition(0).Log || topic.Partition(0).Log.LogEndOffset() != 0 {
		t.Error("the new topic has the old one's log")
	}
	if topic.Config().RetentionMs == 5 {
		t.Error("the new topic has the old one's configs")
	}
	if r.table.ByID([16]byte{1}) != nil {
		t.Error("the old id finds a topic")
	}
	r.append(topic.Partition(0), "new")
	r.restart()
	if end := r.table.ByName("t").Partition(0).Log.LogEndOffset(); end != 1 {
		t.Errorf("after a restart the log ends at %d", end)
	}
}

// One update may delete a topic and make another of its name.
func TestATopicIsReplacedInOneUpdate(t *testing.T) {
	r := newRig(t)
	old := r.create("t", 1, 1)
	r.append(old.Partition(0), "old")
	r.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}}, metadata.TopicRecord{ID: metadata.ID{2}, Name: "t"}, partitionRecord(2, 0))
	topic := r.table.ByName("t")
	if topic == nil || topic.ID != [16]byte{2} || topic.Partition(0).Log.LogEndOffset() != 0 {
		t.Errorf("%+v", topic)
	}
	if r.table.ByID([16]byte{1}) != nil {
		t.Error("the old id finds a topic")
	}
}

// A stop between the removal in the metadata and that of the files leaves a folder with another topic's id.
func TestAFolderThatADeletionLeftIsNotTheNewTopics(t *testing.T) {
	r := newRig(t)
	l, err := r.engine.Create(engine.Name{Topic: "t"}, [16]byte{9}, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r.append(&Partition{Log: l}, "of another topic")
	topic := r.create("t", 1, 1)
	if end := topic.Partition(0).Log.LogEndOffset(); end != 0 || topic.Partition(0).Log.TopicID() != [16]byte{1} {
		t.Errorf("the new topic starts with %d records", end)
	}
	r.restart()
	kept := ""
	entries, err := r.disk.ReadDir(dir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "t-0.") && strings.HasSuffix(entry.Name(), "-stray") {
			kept = entry.Name()
		}
	}
	if info, err := r.disk.Stat(filepath.Join(dir, kept, "00000000000000000000.log")); kept == "" || err != nil || info.Size() == 0 {
		t.Errorf("nobody asked to delete what was there, and it is in %q: %v", kept, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A kill after the removal in the metadata and before that of the files: the start finishes what was begun.
func TestAStartFinishesADeletionThatAKillCutOff(t *testing.T) {
	r := newRig(t)
	r.append(r.create("t", 1, 2).Partition(0), "deleted")
	r.append(r.create("stays", 2, 1).Partition(0), "kept")
	r.stop()
	r.openMetadata()
	r.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	if err := r.meta.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	logs := r.engine.Logs()
	if len(logs) != 1 || logs[0].Name() != (engine.Name{Topic: "stays"}) || logs[0].LogEndOffset() != 1 {
		t.Errorf("after the start there are %d logs, the first is %v", len(logs), logs[0].Name())
	}
	if strings.Contains(r.log.String(), "left alone") || !strings.Contains(r.log.String(), "log=t-0") {
		t.Errorf("the log says %s", r.log)
	}
	r.log.Reset()
	r.restart()
	if r.log.Len() > 0 {
		t.Errorf("the next start says %s", r.log)
	}
}

// The same, and the name was given to a new topic before the kill.
func TestAStartDeletesWhatWasLeftOfTheOldTopicOfAName(t *testing.T) {
	r := newRig(t)
	r.append(r.create("t", 1, 1).Partition(0), "deleted")
	r.stop()
	r.openMetadata()
	r.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	r.update(metadata.TopicRecord{ID: metadata.ID{2}, Name: "t"}, partitionRecord(2, 0))
	if err := r.meta.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	if l := r.table.ByName("t").Partition(0).Log; l.LogEndOffset() != 0 || l.TopicID() != [16]byte{2} {
		t.Errorf("the new topic's log ends at %d", l.LogEndOffset())
	}
	entries, err := r.disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "-stray") {
			t.Errorf("%s was kept, of a topic that was deleted", entry.Name())
		}
	}
}

func TestALogOfNoTopicIsLeftAlone(t *testing.T) {
	r := newRig(t)
	l, err := r.engine.Create(engine.Name{Topic: "stray", Partition: 3}, [16]byte{9}, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r.append(&Partition{Log: l}, "somebody's")
	r.restart()
	l, ok := r.engine.Log(engine.Name{Topic: "stray", Partition: 3})
	if !ok || l.LogEndOffset() != 1 {
		t.Error("the log is gone")
	}
	if r.table.ByName("stray") != nil {
		t.Error("the log has a topic")
	}
	if !strings.Contains(r.log.String(), "log=stray-3") {
		t.Errorf("nobody was told: %s", r.log)
	}
}

func TestAConfigIsInForceWhenTheUpdateReturns(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 2)
	config := func() engine.Config { return topic.Partition(1).Log.Config() }
	r.update(topicConfig("t", "retention.ms", "1000"), topicConfig("t", "flush.messages", "1"))
	if got := config(); got.RetentionAge != time.Second || !got.Sync() || !topic.Config().Sync() {
		t.Errorf("a topic's config: %+v", got)
	}
	node := metadata.Resource{Type: metadata.ResourceBroker, Name: "0"}
	all := metadata.Resource{Type: metadata.ResourceBroker}
	other := metadata.Resource{Type: metadata.ResourceBroker, Name: "7"}
	r.update(metadata.ConfigRecord{Resource: all, Key: "message.max.bytes", Value: "2000"},
		metadata.ConfigRecord{Resource: other, Key: "message.max.bytes", Value: "1"})
	if got := config().Rules.MaxBatchBytes; got != 2000 {
		t.Errorf("the default of all brokers: max.message.bytes %d", got)
	}
	r.update(metadata.ConfigRecord{Resource: node, Key: "message.max.bytes", Value: "3000"})
	if got := config().Rules.MaxBatchBytes; got != 3000 {
		t.Errorf("this broker's own: max.message.bytes %d", got)
	}
	r.update(topicConfig("t", "max.message.bytes", "4000"))
	if got := config().Rules.MaxBatchBytes; got != 4000 {
		t.Errorf("the topic's own: max.message.bytes %d", got)
	}
	r.update(metadata.ConfigRecord{Resource: metadata.Resource{Type: metadata.ResourceTopic, Name: "t"}, Key: "max.message.bytes", Delete: true})
	if got := config().Rules.MaxBatchBytes; got != 3000 {
		t.Errorf("after it was deleted: max.message.bytes %d", got)
	}
	r.restart()
	if topic = r.table.ByName("t"); config().RetentionAge != time.Second || config().Rules.MaxBatchBytes != 3000 {
		t.Errorf("after a restart: %+v", config())
	}
}

func TestATopicIsMadeWithItsConfigs(t *testing.T) {
	r := newRig(t)
	r.update(metadata.TopicRecord{ID: metadata.ID{1}, Name: "t"}, partitionRecord(1, 0), topicConfig("t", "message.timestamp.type", "LogAppendTime"))
	topic := r.table.ByName("t")
	if !topic.Config().LogAppendTime || !topic.Partition(0).Log.Config().Rules.LogAppendTime {
		t.Error("the topic was made without its configs")
	}
}

func TestEveryStartRaisesTheLeaderEpoch(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, 1)
	for start := range int32(3) {
		p := r.table.ByName("t").Partition(0)
		if p.LeaderEpoch() != start {
			t.Errorf("start %d: leader epoch %d", start, p.LeaderEpoch())
		}
		r.append(p, "v")
		if epoch := p.Log.EpochAt(int64(start)); epoch != start {
			t.Errorf("start %d: the record has leader epoch %d", start, epoch)
		}
		if epoch, end := p.Log.EndOffsetForEpoch(start); epoch != start || end != int64(start)+1 {
			t.Errorf("start %d: epoch %d ends at %d", start, epoch, end)
		}
		r.restart()
	}
}

func TestTheGreatestNumbersDoNotOverflow(t *testing.T) {
	r := newRig(t)
	const most = "9223372036854775807"
	r.update(metadata.TopicRecord{ID: metadata.ID{1}, Name: "t"}, partitionRecord(1, 0),
		topicConfig("t", "retention.ms", most), topicConfig("t", "segment.ms", most), topicConfig("t", "flush.ms", most),
		topicConfig("t", "file.delete.delay.ms", most), topicConfig("t", "message.timestamp.after.max.ms", most))
	c := r.table.ByName("t").Partition(0).Log.Config()
	if c.RetentionAge != 1<<63-1 || c.SegmentAge != 1<<63-1 || c.DeleteDelay != 1<<63-1 || c.FlushInterval != 0 || c.Rules.TimestampAfterMaxMs != 1<<63-1 {
		t.Errorf("%+v", c)
	}
}

// Zero is the default in the engine's words, and "nothing" or "at once" in Kafka's.
func TestZeroMeansWhatKafkaMeans(t *testing.T) {
	r := newRig(t)
	r.update(metadata.TopicRecord{ID: metadata.ID{1}, Name: "t"}, partitionRecord(1, 0),
		topicConfig("t", "retention.ms", "0"), topicConfig("t", "retention.bytes", "0"), topicConfig("t", "file.delete.delay.ms", "0"),
		topicConfig("t", "compression.type", "uncompressed"))
	c := r.table.ByName("t").Partition(0).Log.Config()
	if c.RetentionAge != 1 || c.RetentionBytes != 1 || c.DeleteDelay != -1 || c.Rules.Compression != record.None {
		t.Errorf("%+v", c)
	}
}

// A batch that is small as sent must not take the machine's memory; one that may be large may be so unpacked.
func TestWhatABatchDecompressesToIsBounded(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 1)
	if got := topic.Partition(0).Log.Config().Rules.MaxDecompressedBytes; got != 64<<20 {
		t.Errorf("by default: %d bytes", got)
	}
	r.update(topicConfig("t", "max.message.bytes", "104857600"))
	if got := topic.Partition(0).Log.Config().Rules.MaxDecompressedBytes; got != 1600<<20 {
		t.Errorf("with batches of 100 MiB: %d bytes", got)
	}
}

// Look-ups go on while topics come and go.
func TestLookUpsDoNotWaitForChanges(t *testing.T) {
	r := newRig(t)
	r.create("stays", 1, 1)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if p := r.table.ByName("stays").Partition(0); p == nil || p.Log == nil {
					t.Error("a topic that stays is not found")
					return
				}
				if topic := r.table.ByName("comes"); topic != nil && len(topic.Partitions()) != 2 {
					t.Errorf("a topic is found with %d of its 2 partitions", len(topic.Partitions()))
					return
				}
				r.table.WakeAll()
				runtime.Gosched() // others have their turn where there are few processors
			}
		})
	}
	for i := range byte(20) {
		r.create("comes", 10+i, 2)
		r.update(topicConfig("comes", "retention.ms", fmt.Sprint(i)))
		r.update(metadata.RemoveTopicRecord{ID: metadata.ID{10 + i}})
	}
	close(stop)
	readers.Wait()
}

// The topic id is part of a log's first flush. A kill before that leaves a log without one, which is the topic's all the
// same.
func TestAKillBeforeALogsFirstFlushLosesNothing(t *testing.T) {
	r := newRig(t)
	topic := r.create("t", 1, 1)
	r.append(topic.Partition(0), "appended")
	killed := r.disk.Clone(fs.KeepAll)
	r.stop()
	r.disk = killed
	r.start()
	l := r.table.ByName("t").Partition(0).Log
	if l.LogEndOffset() != 1 || l.TopicID() != [16]byte{1} {
		t.Errorf("after the kill the log ends at %d, of topic %v", l.LogEndOffset(), l.TopicID())
	}
}

func TestAPartitionWithoutALeaderHasNoLogUntilItIsLedHere(t *testing.T) {
	r := newRig(t)
	away := metadata.PartitionRecord{Topic: metadata.ID{1}, Partition: metadata.Partition{Leader: -1, Replicas: []int32{2}}}
	r.update(metadata.TopicRecord{ID: metadata.ID{1}, Name: "t"}, away)
	topic := r.table.ByName("t")
	if p := topic.Partition(0); p == nil || p.Log != nil || len(r.engine.Logs()) != 0 {
		t.Fatalf("partition %+v, %d logs", p, len(r.engine.Logs()))
	}
	r.update(partitionRecord(1, 0))
	p := topic.Partition(0)
	if p.Log == nil {
		t.Fatal("no log for a partition that is led here now")
	}
	if a := r.append(p, "v"); a.Err != nil {
		t.Error(a.Err)
	}
}

// What the topic of a log kept is not known when there is no topic.
func TestALogOfNoTopicKeepsItsRecords(t *testing.T) {
	r := newRig(t)
	r.stop()
	e, err := engine.Open(engine.Options{Dir: dir, FS: r.disk, RetentionInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := e.Create(engine.Name{Topic: "stray"}, [16]byte{9}, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := record.NewBuilder(record.None).Add(1000, nil, []byte("old")) // of 1970
	p, done := new(record.Prepared), make(chan engine.Appended, 1)
	if err := p.Prepare(b.Bytes(), record.Rules{Now: 1000, MaxBatchBytes: 1 << 20, TimestampBeforeMaxMs: 1 << 62, TimestampAfterMaxMs: 1 << 62}); err != nil {
		t.Fatal(err)
	}
	l.Append(p, 0, func(a engine.Appended) { done <- a })
	if a := <-done; a.Err != nil {
		t.Fatal(a.Err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	if err := r.engine.Retain(); err != nil {
		t.Fatal(err)
	}
	if l, ok := r.engine.Log(engine.Name{Topic: "stray"}); !ok || l.LogStartOffset() != 0 || l.LogEndOffset() != 1 {
		t.Error("the record of a log that is left alone was deleted")
	}
}
