package engine

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
)

// The file with the topic id is the first that a full disk refuses. No record needs it.
func TestATopicIDThatFindsNoRoomIsWrittenWithALaterCheckpoint(t *testing.T) {
	for _, fault := range []error{unix.ENOSPC, unix.EACCES} {
		disk := fs.NewCrash(1)
		e := open(t, Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1})
		id := [16]byte{7}
		l, err := e.Create(Name{"t", 0}, id, Config{FlushMessages: 1})
		must(t, err)
		failFrom(disk, "partition.metadata.tmp", fault, fs.OpOpen, fs.OpWrite)
		appendWait(t, l, prepared(t, 1, "a"))
		must(t, e.Err())
		disk.SetHook(nil)
		appendWait(t, l, prepared(t, 1, "b"))
		must(t, e.Checkpoint())
		if got, err := checkpoint.ReadTopicID(disk.Clone(fs.DropUnflushed), "/d/t-0"); err != nil || got != checkpoint.ID(id) {
			t.Errorf("%v: once there is room again: %v, %v", fault, got, err)
		}
		must(t, e.Close())
	}
}

// The topic id is durable with the first flush of a log, and a log whose first flush never came takes it from whoever
// knows.
func TestALogSaysWhoseItIsFromItsFirstFlushOn(t *testing.T) {
	disk := fs.NewCrash(1)
	e := open(t, Options{Dir: "/d", FS: disk, CheckpointInterval: -1, RetentionInterval: -1})
	id := [16]byte{7}
	l, err := e.Create(Name{"t", 0}, id, Config{})
	if err != nil {
		t.Fatal(err)
	}
	appendWait(t, l, prepared(t, 1, "a"))
	killed := disk.Clone(fs.KeepAll)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	cut := disk.Clone(fs.DropUnflushed)
	if got, err := checkpoint.ReadTopicID(cut, "/d/t-0"); err != nil || got != checkpoint.ID(id) {
		t.Errorf("after a power cut behind the flush: %v, %v", got, err)
	}
	again := open(t, Options{Dir: "/d", FS: killed, CheckpointInterval: -1, RetentionInterval: -1})
	l, _ = again.Log(Name{"t", 0})
	if l.TopicID() != [16]byte{} {
		t.Fatalf("id %v before the first flush", l.TopicID())
	}
	l.Adopt(id)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := checkpoint.ReadTopicID(killed, "/d/t-0"); err != nil || got != checkpoint.ID(id) {
		t.Errorf("adopted and closed: %v, %v", got, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
