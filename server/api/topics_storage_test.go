package api

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
)

// A storageRig is a topicBroker with logs, on a disk that can fail. Its metadata is on another one.
type storageRig struct {
	*Broker
	t    *testing.T
	disk *fs.Crash
	logs *logdir.Dir
	meta string
}

const storageDir = "/data"

func newStorageRig(t *testing.T) *storageRig {
	t.Helper()
	r := &storageRig{t: t, disk: fs.NewCrash(1), meta: t.TempDir()}
	if err := r.disk.MkdirAll(storageDir); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(r.stop)
	registerBrokers(t, r.Broker, metadata.Broker{ID: 1})
	return r
}

func (r *storageRig) start() {
	r.t.Helper()
	r.Broker = openTopicBroker(r.t, r.meta)
	var err error
	r.logs, err = logdir.Open(metadata.ID{1, 1}, engine.Options{Dir: storageDir, FS: r.disk, OnAdvance: partition.Advanced, RetentionInterval: -1, Writers: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Dirs = logdir.New(r.logs)
	r.Partitions = partition.New(1, r.Dirs, nil, slog.New(slog.DiscardHandler))
	if err := r.Partitions.Follow(r.Metadata); err != nil {
		r.t.Fatal(err)
	}
}

// stop does not ask how the engine ends: it may have failed.
func (r *storageRig) stop() {
	_ = r.logs.Close()
	closeTopicBroker(r.t, r.Broker)
}

// fail has the directory go offline, as a disk does whose flushes fail.
func (r *storageRig) fail() {
	r.t.Helper()
	r.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if (op == fs.OpDatasync || op == fs.OpWriteDurable) && filepath.Ext(name) == ".log" {
			return unix.EIO
		}
		return nil
	})
	var prep record.Prepared
	l := r.Partitions.ByName("before").Partition(0).Log
	if err := prep.Prepare(record.NewBuilder(record.None).Add(1, []byte("k"), []byte("v")).Bytes(), l.Config().Rules); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan engine.Appended, 1)
	l.Append(&prep, 0, func(a engine.Appended) { done <- a })
	<-done
	if err := l.Flush(); err == nil || r.Dirs.Err() == nil {
		r.t.Fatalf("the directory is not offline: %v", err)
	}
}

func (r *storageRig) grow(topic string, count int32) int16 {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.TimeoutMillis = 3, 10_000
	req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic, Count: count}}
	return r.answerCreatePartitions(req).Topics[0].ErrorCode
}

func TestWhileTheDirectoryIsOfflineNoPartitionsAreMade(t *testing.T) {
	r := newStorageRig(t)
	mustCreate(t, r.Broker, newTopic("before", 1, 1))
	r.fail()
	got := r.answerCreateTopics(createRequest(newTopic("new", 2, 1))).Topics[0]
	if got.ErrorCode != kerr.KafkaStorageError.Code || got.ErrorMessage == nil || got.TopicID != [16]byte{} {
		t.Errorf("create: %+v", got)
	}
	if code := r.grow("before", 3); code != kerr.KafkaStorageError.Code {
		t.Errorf("grow: error %d", code)
	}
	r.autoCreate([]string{"auto"})
	if err := r.EnsureInternalTopic(t.Context(), consumerOffsets); err == nil {
		t.Error("an internal topic was made")
	}
	wantTopics(t, r.Broker, "before")
	wantPartitions(t, r.Broker, "before", 1)

	r.stop()
	r.disk.SetHook(nil)
	r.start()
	mustCreate(t, r.Broker, newTopic("new", 2, 1))
	if code := r.grow("before", 3); code != 0 {
		t.Errorf("grow after a restart: error %d", code)
	}
	for _, topic := range []string{"before", "new"} {
		if r.unmade(topic) != nil {
			t.Errorf("%s has not all of its logs", topic)
		}
	}
}

// The directory fails after the decision and before the logs are made.
func TestATopicWhoseLogsCannotBeMadeIsTakenBack(t *testing.T) {
	r := newStorageRig(t)
	mustCreate(t, r.Broker, newTopic("before", 1, 1))
	r.fail()
	r.Dirs = nil // so that the decision does not see it
	got := r.answerCreateTopics(createRequest(newTopic("new", 2, 1))).Topics[0]
	if got.ErrorCode != kerr.KafkaStorageError.Code || got.TopicID != [16]byte{} {
		t.Errorf("create: %+v", got)
	}
	if code := r.grow("before", 3); code != kerr.KafkaStorageError.Code {
		t.Errorf("grow: error %d", code)
	}
	r.autoCreate([]string{"auto"})
	if err := r.EnsureInternalTopic(t.Context(), consumerOffsets); err == nil {
		t.Error("an internal topic was made")
	}
	wantTopics(t, r.Broker, "before")
	r.takeBack([]string{"before"})
	wantTopics(t, r.Broker, "before") // it has records
}
