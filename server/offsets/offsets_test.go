package offsets

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/group"
)

var discard = slog.New(slog.DiscardHandler)

// seeds is crypto/rand as a reader.
type seeds struct{}

func (seeds) Read(p []byte) (int, error) { return rand.Read(p) }

var nothing = offset{at: -1}

// TestGroupsSurviveAKill: what was committed is there after a kill -9, what was deleted is not.
func TestGroupsSurviveAKill(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	for _, topic := range []string{"a", "b", "c"} {
		r.create(topic, 1)
		for _, g := range []string{"g1", "g2"} {
			equal(t, "commit", r.commit(g, topic, int64(10+len(topic)), "said "+topic), 0)
		}
	}
	drop := kmsg.NewPtrDeleteGroupsRequest()
	drop.Groups = []string{"g2"}
	equal(t, "delete group", wait(r, func(done func(int16)) {
		r.store.Coordinator().DeleteGroups(drop, func(resp *kmsg.DeleteGroupsResponse) { done(resp.Groups[0].ErrorCode) })
	}), 0)
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = "g1"
	forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "b", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	equal(t, "delete offset", wait(r, func(done func(int16)) {
		r.store.Coordinator().OffsetDelete(forget, func(resp *kmsg.OffsetDeleteResponse) { done(resp.Topics[0].Partitions[0].ErrorCode) })
	}), 0)

	r = run(t, r.kill())
	equal(t, "g1 a", r.fetch("g1", "a"), offset{11, "said a", 0})
	equal(t, "g1 b", r.fetch("g1", "b"), nothing)
	equal(t, "g1 c", r.fetch("g1", "c"), offset{11, "said c", 0})
	equal(t, "g2 a", r.fetch("g2", "a"), nothing)
	equal(t, "groups", fmt.Sprint(r.groups()), "[g1]")
}

// TestAllOfALongLogIsLoaded: more than one read, and batches that a read cuts off.
func TestAllOfALongLogIsLoaded(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	r.create("a", 1)
	const n = 700
	for i := range n { // 2.8 MB in one partition
		equal(t, "commit", r.commit("g", "a", int64(i), strings.Repeat("m", 4000)), 0)
	}
	r.stop()
	r = run(t, r.disk)
	equal(t, "the last offset", r.fetch("g", "a").at, n-1)
}

func TestATopicThatIsThereIsLoadingWhenStartReturns(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	r.create("a", 1)
	equal(t, "commit", r.commit("g", "a", 7, ""), 0)
	r.stop()

	r = start(t, r.disk)
	equal(t, "before Start", r.fetch("g", "a").code, kerr.NotCoordinator.Code)
	blocked := make(chan struct{})
	r.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && strings.Contains(name, Topic) {
			<-blocked
		}
		return nil
	})
	r.store.Start()
	equal(t, "while the log is read", r.fetch("g", "a").code, kerr.CoordinatorLoadInProgress.Code)
	close(blocked)
	r.loaded()
	equal(t, "afterwards", r.fetch("g", "a"), offset{at: 7})
}

func TestCloseEndsALoad(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	r.create("a", 1)
	equal(t, "commit", r.commit("g", "a", 7, ""), 0)
	r.stop()
	r = start(t, r.disk)
	blocked, closing := make(chan struct{}), make(chan struct{})
	r.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRead && strings.Contains(name, Topic) {
			<-blocked
		}
		return nil
	})
	r.store.Start()
	go func() {
		defer close(closing)
		r.store.Close()
	}()
	close(blocked)
	<-closing
	equal(t, "after Close", r.fetch("g", "a").code, kerr.CoordinatorNotAvailable.Code)
}

// TestTheTopicsNumberOfPartitionsCounts: groups are where they were when the topic was made, whatever the setting is now.
func TestTheTopicsNumberOfPartitionsCounts(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 7)
	r.create("a", 1)
	r.stop()
	r = run(t, r.disk)
	for i := range 20 {
		equal(t, "commit", r.commit(fmt.Sprint("g", i), "a", 1, ""), 0)
	}
	equal(t, "partitions", r.store.partitions, 7)
}

// TestATopicThatIsMadeAgainHasNoOffsets, not even after a crash that lost what was written when it was deleted.
func TestATopicThatIsMadeAgainHasNoOffsets(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	r.create("a", 1)
	equal(t, "commit", r.commit("g", "a", 10, ""), 0)
	must(t, r.engine.Checkpoint())
	r.remove("a")
	equal(t, "after the deletion", r.fetch("g", "a"), nothing)
	r.create("a", 1)
	equal(t, "made again", r.fetch("g", "a"), nothing)

	killed, cut := r.kill(), r.disk.Clone(fs.DropUnflushed)
	r = run(t, killed)
	equal(t, "after a kill", r.fetch("g", "a"), nothing)
	r = run(t, cut)
	equal(t, "after a power cut", r.fetch("g", "a"), nothing)
	equal(t, "commit", r.commit("g", "a", 3, ""), 0)
	equal(t, "a new offset", r.fetch("g", "a"), offset{at: 3})
}

// TestTheTopicItselfIsDeletedAndMadeAgain, quickly and with requests in between.
func TestTheTopicItselfIsDeletedAndMadeAgain(t *testing.T) {
	r := run(t, newDisk(t))
	r.create("a", 1)
	equal(t, "without the topic", r.commit("g", "a", 1, ""), kerr.NotCoordinator.Code)
	for i := range int64(5) {
		r.create(Topic, 4)
		equal(t, "a fresh topic", r.fetch("g", "a"), nothing)
		equal(t, "commit", r.commit("g", "a", i, ""), 0)
		equal(t, "offset", r.fetch("g", "a"), offset{at: i})
		r.remove(Topic)
		equal(t, "deleted", r.commit("g", "a", 1, ""), kerr.NotCoordinator.Code)
	}
}

// The directory of the topic hangs while that is deleted and made again: the groups are served when it goes on.
func TestGroupsAreServedWhenTheLogOfTheirPartitionIsMadeLater(t *testing.T) {
	r := run(t, newDisk(t))
	r.create("a", 1)
	r.create(Topic, 4)
	equal(t, "commit", r.commit("g", "a", 1, ""), 0)
	goOn := make(chan struct{})
	r.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpRename && strings.Contains(name, Topic) {
			<-goOn
		}
		return nil
	})
	r.remove(Topic)
	r.create(Topic, 4)
	equal(t, "before there are logs", r.commit("g", "a", 2, ""), kerr.NotCoordinator.Code)
	close(goOn)
	r.table.Close()
	r.loaded()
	equal(t, "of the old topic", r.fetch("g", "a"), nothing)
	equal(t, "commit", r.commit("g", "a", 3, ""), 0)
	equal(t, "offset", r.fetch("g", "a"), offset{at: 3})
}

func TestPartitionsThatAreAddedAreNotUsedBeforeARestart(t *testing.T) {
	r := run(t, newDisk(t))
	id := r.create(Topic, 2) // fewer than groups are spread over
	r.create("a", 1)
	refused := 0
	for i := range 40 {
		if r.commit(fmt.Sprint("g", i), "a", 1, "") == kerr.NotCoordinator.Code {
			refused++
		}
	}
	if refused == 0 || refused == 40 {
		t.Errorf("%d of 40 groups have no partition", refused)
	}
	r.grow(id, 2, 6)
	r.loaded()
	for i := range 40 {
		equal(t, "commit", r.commit(fmt.Sprint("g", i), "a", 2, ""), 0)
	}
	equal(t, "led", r.store.mu.topic.led, 4)
}

// TestADamagedPartitionIsNotServedAndOthersAre: an answer from a part of the log would send consumers back.
func TestADamagedPartitionIsNotServedAndOthersAre(t *testing.T) {
	r := run(t, newDisk(t))
	r.create(Topic, 4)
	r.create("a", 1)
	for _, g := range []string{"g0", "g1", "g2", "g3"} {
		equal(t, "commit", r.commit(g, "a", 5, "metadata"), 0)
	}
	bad := r.store.groups.PartitionFor("g1")
	r.stop()
	name := fmt.Sprintf("%s/%s-%d/00000000000000000000.log", dir, Topic, bad)
	f, err := r.disk.Open(name, os.O_RDWR)
	must(t, err)
	must(t, f.Write([]byte{0xff}, record.HeaderSize+5, false))
	must(t, f.Datasync())
	must(t, f.Close())

	r = run(t, r.disk)
	for _, g := range []string{"g0", "g1", "g2", "g3"} {
		want := offset{5, "metadata", 0}
		if r.store.groups.PartitionFor(g) == bad {
			want = offset{-1, "", kerr.CoordinatorLoadInProgress.Code}
		}
		equal(t, g, r.fetch(g, "a"), want)
	}
}

// A load whose turn comes after the directory has failed must not make groups loading that nobody loads any more.
func TestGroupsOfADirectoryThatFailsBeforeTheirLoadAreNobodys(t *testing.T) {
	r := run(t, newDisk(t))
	id := r.create(Topic, 4)
	r.create("a", 1)
	equal(t, "commit", r.commit("g", "a", 5, ""), 0)
	r.stop()
	r = start(t, r.disk)
	in := &incarnation{id: id, led: 4}
	r.store.mu.topic = in
	r.table.DirectoryFailed(r.dir)
	r.store.DirectoryFailed()
	r.store.loadPartition(in, r.store.groups.PartitionFor("g"))
	equal(t, "fetch", r.fetch("g", "a"), offset{-1, "", kerr.NotCoordinator.Code})
}

func TestAppendsAreRefusedInKafkasWords(t *testing.T) {
	r := run(t, newDisk(t))
	appended := func(partition int32, value int) error {
		return wait(r, func(done func(error)) {
			r.store.Append(partition, []group.Record{{Key: []byte("k"), Value: make([]byte, value)}}, done)
		})
	}
	equal(t, "no topic", appended(0, 1), error(kerr.UnknownTopicOrPartition))
	r.create(Topic, 1)
	equal(t, "no partition", appended(1, 1), error(kerr.KafkaStorageError))
	equal(t, "too large", appended(0, 2<<20), error(kerr.MessageTooLarge))
	equal(t, "small", appended(0, 1), nil)

	other := errors.New("other")
	for _, c := range []struct{ err, want error }{
		{nil, nil}, {other, other},
		{fmt.Errorf("append: %w", engine.ErrNoSpace), kerr.CoordinatorNotAvailable},
		{engine.ErrBusy, kerr.CoordinatorNotAvailable},
		{engine.ErrClosed, kerr.CoordinatorNotAvailable},
		{engine.ErrDeleted, kerr.UnknownTopicOrPartition},
		{engine.ErrTooLargeForSegment, kerr.RecordListTooLarge},
		{&record.Error{Kind: record.InvalidRecord}, kerr.UnknownServerError},
	} {
		equal(t, fmt.Sprint("refusal of ", c.err), refusal(c.err), c.want)
	}
}

func TestTopicsAreTheImages(t *testing.T) {
	r := run(t, newDisk(t))
	id := r.create("a", 3)
	topics := topics{r.meta}
	name, n, ok := topics.ByID(id)
	equal(t, "by id", fmt.Sprint(name, " ", n, ok), "a 3 true")
	found, n, ok := topics.ByName("a")
	equal(t, "by name", fmt.Sprint(found == id, n, ok), "true 3 true")
	_, _, ok = topics.ByID([16]byte{1})
	_, _, other := topics.ByName("b")
	equal(t, "unknown", ok || other, false)
	if !slices.Equal(r.groups(), []string{}) {
		t.Error("there are groups")
	}
}

// A directory of Apache Kafka may have some of the topic's partitions, the others being on other brokers.
func TestGroupsOfAPartitionThatIsElsewhereAreNotServedHere(t *testing.T) {
	r := start(t, newDisk(t))
	away := r.store.groups.PartitionFor("g1")
	id := metadata.ID{1}
	r.update(func(*metadata.Image) []metadata.Record {
		records := []metadata.Record{metadata.TopicRecord{ID: id, Name: Topic, Internal: true}}
		for i := range int32(4) {
			p := metadata.Partition{ID: i, Replicas: []int32{0}, ISR: []int32{0}}
			if i == away {
				p.Leader, p.Replicas = -1, []int32{7}
			}
			records = append(records, metadata.PartitionRecord{Topic: id, Partition: p})
		}
		return records
	})
	r.store.Start()
	r.loaded()
	r.create("a", 1)
	for _, g := range []string{"g0", "g1", "g2", "g3"} {
		want := int16(0)
		if r.store.groups.PartitionFor(g) == away {
			want = kerr.NotCoordinator.Code
		}
		equal(t, "commit of "+g, r.commit(g, "a", 5, "metadata"), want)
	}
}
