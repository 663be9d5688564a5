package partition

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/logdir"
)

const hangs = "/hangs"

// A hung rig has a second directory, whose disk does nothing until goOn is called.
type hung struct {
	*rig
	goOn chan struct{}
	made chan *Partition
}

func newHung(t *testing.T) *hung {
	t.Helper()
	disk := fs.NewCrash(1)
	h := &hung{rig: &rig{t: t, disk: disk, log: new(bytes.Buffer)}, goOn: make(chan struct{}), made: make(chan *Partition, 10)}
	if err := disk.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.dir, err = logdir.Open(metadata.ID{1}, engine.Options{Dir: dir, FS: disk, OnAdvance: Advanced, RetentionInterval: -1, Writers: 1}); err != nil {
		t.Fatal(err)
	}
	h.engine = h.dir.Engine()
	h.openMetadata()
	t.Cleanup(h.stop)
	if err := h.disk.MkdirAll(hangs); err != nil {
		t.Fatal(err)
	}
	second, err := logdir.Open(metadata.ID{2}, engine.Options{Dir: hangs, FS: h.disk, OnAdvance: Advanced, RetentionInterval: -1, Writers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.table.Close()
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	h.table = New(0, logdir.New(h.dir, second), nil, slog.New(slog.NewTextHandler(h.log, nil)))
	if err := h.table.Follow(h.meta); err != nil {
		t.Fatal(err)
	}
	h.table.patience = 10 * time.Millisecond
	return h
}

// in makes a topic of one partition in a directory.
func (h *hung) in(d byte, name string, id byte) *Partition {
	h.t.Helper()
	r := partitionRecord(id, 0).(metadata.PartitionRecord)
	r.Partition.Directories = []metadata.ID{{d}}
	h.update(metadata.TopicRecord{ID: metadata.ID{id}, Name: name}, r)
	return h.table.ByName(name).Partition(0)
}

func (h *hung) hang() {
	h.disk.SetHook(func(_ fs.Op, name string, _ int) error {
		if strings.HasPrefix(name, hangs) {
			<-h.goOn
		}
		return nil
	})
	h.table.OnMade(func(p *Partition) { h.made <- p })
}

// Topics of a disk that hangs are deleted and made; those of others are there at once, and so, in the end, is everything.
func TestADiskThatHangsHoldsUpNoChangesOfOthers(t *testing.T) {
	h := newHung(t)
	old := h.in(2, "t", 1)
	h.append(old, "old")
	h.hang()
	h.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	if h.table.ByName("t") != nil || h.table.ByID([16]byte{1}) != nil {
		t.Error("the topic is still there")
	}
	again := h.in(2, "t", 2)
	if again.Log != nil || again.Missing != Making || again.Leader() != 0 || again.Away() {
		t.Errorf("of a disk that hangs: %+v", again)
	}
	h.update(topicConfig("t", "segment.bytes", "1048577"))
	other := h.in(1, "other", 3)
	if other.Log == nil {
		t.Fatalf("of another disk: %+v", other)
	}
	if a := h.append(other, "v"); a.Err != nil {
		t.Error(a.Err)
	}
	if p := <-h.made; p != other {
		t.Errorf("%+v was made", p)
	}
	close(h.goOn)
	p := <-h.made
	if p.Topic.ID != [16]byte{2} || p != h.table.ByName("t").Partition(0) || p.Missing != 0 {
		t.Fatalf("in the end there is %+v", p)
	}
	if p.Log.LogEndOffset() != 0 || p.Log.TopicID() != [16]byte{2} || p.Log.Config().SegmentBytes != 1048577 {
		t.Errorf("the log ends at %d, of %v, and rolls at %d", p.Log.LogEndOffset(), p.Log.TopicID(), p.Log.Config().SegmentBytes)
	}
	if a := h.append(p, "new"); a.Err != nil {
		t.Error(a.Err)
	}
}

// A topic goes whose log is yet to be made: it is made, and deleted.
func TestATopicThatGoesBeforeItsLogIsMadeLeavesNone(t *testing.T) {
	h := newHung(t)
	h.in(2, "first", 1)
	h.hang()
	h.append(h.in(1, "other", 5), "v")
	h.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}}) // the directory has something to do
	h.in(2, "t", 2)
	h.update(metadata.RemoveTopicRecord{ID: metadata.ID{2}})
	close(h.goOn)
	h.table.Close()
	if n := len(h.table.dirs.All()[1].Logs()); n != 0 {
		t.Errorf("%d logs are left", n)
	}
}

// A directory fails while a log of it is to be made.
func TestADirectoryThatFailsBeforeALogIsMadeTakesThePartitionOffline(t *testing.T) {
	h := newHung(t)
	h.in(2, "first", 1)
	h.hang()
	h.update(metadata.RemoveTopicRecord{ID: metadata.ID{1}})
	h.in(2, "t", 2)
	if n := h.table.DirectoryFailed(h.table.dirs.All()[1]); n != 1 {
		t.Errorf("%d partitions are offline", n)
	}
	close(h.goOn)
	h.table.Close()
	if p := h.table.ByName("t").Partition(0); p.Log != nil || p.Missing != Offline {
		t.Errorf("%+v", p)
	}
}
