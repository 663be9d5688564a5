package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

// logDirs is what DescribeLogDirs says: the partitions of each directory by its path, or nil for one that is offline.
func (c client) logDirs() map[string][]string {
	c.t.Helper()
	all := map[string][]string{}
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](c, &kmsg.DescribeLogDirsRequest{Version: 4}).Dirs {
		switch d.ErrorCode {
		case 0:
			all[d.Dir] = []string{}
			if d.TotalBytes <= 0 || d.UsableBytes <= 0 || d.UsableBytes > d.TotalBytes {
				c.t.Errorf("%s: %d of %d bytes are free", d.Dir, d.UsableBytes, d.TotalBytes)
			}
		case kerr.KafkaStorageError.Code:
			all[d.Dir] = nil
			if d.TotalBytes != -1 || d.UsableBytes != -1 || len(d.Topics) > 0 {
				c.t.Errorf("of a directory that is offline: %+v", d)
			}
		default:
			c.t.Errorf("%s: error %d", d.Dir, d.ErrorCode)
		}
		for _, topic := range d.Topics {
			for _, p := range topic.Partitions {
				all[d.Dir] = append(all[d.Dir], fmt.Sprintf("%s-%d", topic.Topic, p.Partition))
			}
		}
		slices.Sort(all[d.Dir])
	}
	return all
}

// where returns the directory of a partition.
func (c client) where(name string) string {
	c.t.Helper()
	for dir, logs := range c.logDirs() {
		if slices.Contains(logs, name) {
			return dir
		}
	}
	c.t.Fatalf("%s is in no directory", name)
	return ""
}

// inEach makes a topic with one partition in each of the two directories of a new broker, with a record in each, and returns the number of
// the one that is in dir, and of the other.
func (c client) inEach(topic, dir string, configs ...string) (in, other int32) {
	c.t.Helper()
	c.create(topic, 2, configs...)
	for p := range int32(2) {
		if c.where(fmt.Sprintf("%s-%d", topic, p)) == dir {
			in = p
		} else {
			other = p
		}
		c.put(topic, p, batch(fmt.Sprint(p)))
	}
	if in == other {
		c.t.Fatalf("both partitions of %s are in one directory: %v", topic, c.logDirs())
	}
	return in, other
}

// code is what an append to a partition is answered.
func (c client) code(topic string, p int32, b []byte) *kerr.Error {
	c.t.Helper()
	code := ask[*kmsg.ProduceResponse](c, produceRequest(topic, p, -1, b)).Topics[0].Partitions[0].ErrorCode
	return kerr.TypedErrorForCode(code)
}

// end is the offset behind the last record of a partition, or the code for why it is not known.
func (c client) end(topic string, p int32) (int64, *kerr.Error) {
	c.t.Helper()
	req := &kmsg.ListOffsetsRequest{Version: 6, ReplicaID: -1, Topics: []kmsg.ListOffsetsRequestTopic{{
		Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Partition: p, CurrentLeaderEpoch: -1, Timestamp: -1}}}}}
	got := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
	return got.Offset, kerr.TypedErrorForCode(got.ErrorCode)
}

// leaderOf is what Metadata says of a partition: its leader, its offline replicas, and a code.
func (c client) leaderOf(topic string, number int32) string {
	c.t.Helper()
	req := &kmsg.MetadataRequest{Version: 9, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr(topic)}}}
	for _, p := range ask[*kmsg.MetadataResponse](c, req).Topics[0].Partitions {
		if p.Partition == number {
			return fmt.Sprint(p.Leader, p.OfflineReplicas, p.ErrorCode)
		}
	}
	return "none"
}

const (
	led     = "1 [] 0"
	offline = "-1 [1] 5"
)

func twoDirs(t *testing.T) (a, b string) {
	t.Helper()
	root := t.TempDir()
	return filepath.Join(root, "a"), filepath.Join(root, "b")
}

func read(t *testing.T, name ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(name...))
	must(t, err)
	return string(b)
}

func line(text, key string) string {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, key) {
			return l
		}
	}
	return ""
}

func TestPartitionsSpreadOverDirectoriesAndAreFoundAgainInAnyOrder(t *testing.T) {
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	c := first.dial()
	c.create("t", 10)
	c.create("u", 4)
	for p := range int32(10) {
		c.put("t", p, batch("v"))
	}
	before := c.logDirs()
	if len(before[a]) != 7 || len(before[b]) != 7 {
		t.Errorf("placed as %v", before)
	}
	metaA, metaB := read(t, a, "meta.properties"), read(t, b, "meta.properties")
	for _, key := range []string{"cluster.id=", "node.id="} {
		if got := line(metaA, key); got == "" || got != line(metaB, key) {
			t.Errorf("%s in %q and in %q", key, metaA, metaB)
		}
	}
	if id := line(metaA, "directory.id="); id == "" || id == line(metaB, "directory.id=") {
		t.Errorf("the ids of %q and %q", metaA, metaB)
	}
	first.stop()
	again := start(t, b+","+a) // the metadata is where it was
	c = again.dial()
	if after := c.logDirs(); !slices.Equal(after[a], before[a]) || !slices.Equal(after[b], before[b]) {
		t.Errorf("placed as %v, and as %v after a start", before, after)
	}
	if read(t, a, "meta.properties") != metaA || read(t, b, "meta.properties") != metaB {
		t.Error("a directory was given another identity")
	}
	for p := range int32(10) {
		if at := c.put("t", p, batch("w")); at != 1 {
			t.Errorf("t-%d: the next record is at %d", p, at)
		}
	}
}

// An operator may move folders while nobody has them, as with Apache Kafka.
func TestAFolderThatWasMovedToAnotherDirectoryIsServedFromThere(t *testing.T) {
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	c := first.dial()
	p, _ := c.inEach("t", b)
	name := fmt.Sprint("t-", p)
	first.stop()
	must(t, os.Rename(filepath.Join(b, name), filepath.Join(a, name)))
	for range 2 {
		again := start(t, a+","+b)
		c := again.dial()
		if at := c.where(name); at != a {
			t.Errorf("%s is in %s", name, at)
		}
		if got := c.leaderOf("t", p); got != led {
			t.Errorf("%s: %s", name, got)
		}
		c.put("t", p, batch("v"))
		again.stop()
	}
	must(t, os.CopyFS(filepath.Join(b, name), os.DirFS(filepath.Join(a, name))))
	_, err := inprocess.Try(t.Context(), a+","+b, new(raw.Log))
	if err == nil || !strings.Contains(err.Error(), "partition "+name+" is in "+a+" and in "+b) {
		t.Errorf("two folders of one partition: %v", err)
	}
}

func TestADirectoryThatCannotBeUsedIsOfflineUntilItIsBack(t *testing.T) {
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	c := first.dial()
	p, other := c.inEach("t", b)
	gone, _ := c.inEach("gone", b)
	first.stop()
	must(t, os.Rename(b, b+".away"))
	must(t, os.WriteFile(b, nil, 0o600)) // as good as a disk that cannot be read

	without := start(t, a+","+b)
	c = without.dial()
	if dirs := c.logDirs(); dirs[b] != nil || len(dirs[a]) != 2 {
		t.Errorf("directories %v", dirs)
	}
	if got := c.leaderOf("t", p); got != offline {
		t.Errorf("t-%d: %s", p, got)
	}
	if got := c.leaderOf("t", other); got != led {
		t.Errorf("t-%d: %s", other, got)
	}
	if err := c.code("t", p, batch("v").Bytes()); err != kerr.NotLeaderForPartition {
		t.Errorf("produce: %v", err)
	}
	if _, err := c.end("t", p); err != kerr.NotLeaderForPartition {
		t.Errorf("list offsets: %v", err)
	}
	c.put("t", other, batch("v"))
	c.create("new", 3)
	for i := range int32(3) {
		c.put("new", i, batch("v"))
	}
	drop := &kmsg.DeleteTopicsRequest{Version: 6, TimeoutMillis: 10_000, Topics: []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("gone")}}}
	if got := ask[*kmsg.DeleteTopicsResponse](c, drop).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("delete: error %d", got.ErrorCode)
	}
	c.create("gone", 2) // another one of that name
	c.put("gone", gone, batch("new"))
	if log := without.log.String(); !strings.Contains(log, "a log directory cannot be used") || !strings.Contains(log, "partitions are offline") {
		t.Errorf("nobody was told:\n%s", log)
	}
	without.stop()

	must(t, os.Remove(b))
	must(t, os.Rename(b+".away", b))
	back := start(t, a+","+b)
	c = back.dial()
	if got := c.leaderOf("t", p); got != led {
		t.Errorf("t-%d: %s", p, got)
	}
	if at := c.put("t", p, batch("v")); at != 1 {
		t.Errorf("t-%d goes on at %d", p, at)
	}
	if at := c.put("gone", gone, batch("v")); at != 1 || c.where(fmt.Sprint("gone-", gone)) != a {
		t.Errorf("the topic of the old one's name goes on at %d, %v", at, c.logDirs())
	}
	if !strings.Contains(back.log.String(), "deleted a log that the deletion of its topic had left") {
		t.Error("the deletion was not finished")
	}
}

// A mount point without its disk looks like a new directory.
func TestAnEmptyDirectoryDoesNotTakeThePlaceOfOneWithRecords(t *testing.T) {
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	c := first.dial()
	p, _ := c.inEach("t", b)
	first.stop()
	must(t, os.Rename(b, b+".away"))
	without := start(t, a+","+b)
	c = without.dial()
	if err := c.code("t", p, batch("v").Bytes()); err != kerr.NotLeaderForPartition {
		t.Errorf("produce: %v", err)
	}
	if got := c.leaderOf("t", p); got != offline {
		t.Errorf("t-%d: %s", p, got)
	}
	if !strings.Contains(without.log.String(), "is a disk not mounted?") {
		t.Error("nobody was told")
	}
	without.stop()
	alone := start(t, a) // the configuration may be wrong, too
	c = alone.dial()
	if err := c.code("t", p, batch("v").Bytes()); err != kerr.NotLeaderForPartition {
		t.Errorf("produce without the directory: %v", err)
	}
	alone.stop()
	must(t, os.RemoveAll(b))
	must(t, os.Rename(b+".away", b))
	if at := start(t, a+","+b).dial().put("t", p, batch("v")); at != 1 {
		t.Errorf("the next record is at %d", at)
	}
}

func TestDirectoriesThatDoNotBelongTogetherAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, a, b string) string // log.dirs
		want  string
	}{
		"of another cluster": {func(t *testing.T, a, b string) string {
			other := filepath.Join(t.TempDir(), "other")
			start(t, other).stop()
			return a + "," + other
		}, "expected directories of one cluster"},
		"a copy": {func(t *testing.T, a, b string) string {
			must(t, os.CopyFS(b+".copy", os.DirFS(b)))
			return a + "," + b + "," + b + ".copy"
		}, "have the same directory.id"},
		"the same by another name": {func(t *testing.T, a, b string) string {
			must(t, os.Symlink(a, a+".link"))
			return a + "," + b + "," + a + ".link"
		}, "are the same directory"},
		"of another node": {func(t *testing.T, a, b string) string {
			text := read(t, b, "meta.properties")
			must(t, os.WriteFile(filepath.Join(b, "meta.properties"), []byte(strings.Replace(text, "node.id=1", "node.id=7", 1)), 0o600))
			return a + "," + b
		}, "of node.id 7, and this broker is 1"},
		"without the metadata": {func(t *testing.T, a, b string) string { return b }, "expected the metadata that was written with these logs"},
		"with the metadata offline": {func(t *testing.T, a, b string) string {
			must(t, os.RemoveAll(a))
			must(t, os.WriteFile(a, nil, 0o600))
			return a + "," + b
		}, "of the metadata"},
		"with the metadata offline, in another order": {func(t *testing.T, a, b string) string {
			must(t, os.RemoveAll(a))
			must(t, os.WriteFile(a, nil, 0o600))
			return b + "," + a
		}, "it may have the metadata"},
		"two with metadata": {func(t *testing.T, a, b string) string {
			must(t, os.WriteFile(filepath.Join(b, "zurau-metadata.log"), nil, 0o600))
			return a + "," + b
		}, "both have metadata"},
		"one in use": {func(t *testing.T, a, b string) string {
			start(t, a+".new,"+b+".new")
			return a + "," + b + ".new"
		}, "expected directories of one cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := twoDirs(t)
			first := start(t, a+","+b, "node.id=1")
			first.dial().create("t", 2)
			first.stop()
			s, err := inprocess.Try(t.Context(), c.spoil(t, a, b), new(raw.Log))
			if err == nil {
				inprocess.Stop(t, s)
				t.Fatal("taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q does not say %q", err, c.want)
			}
		})
	}
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	if _, err := inprocess.Try(t.Context(), b, new(raw.Log)); err == nil || !strings.Contains(err.Error(), "another process holds this lock") {
		t.Errorf("a directory in use: %v", err)
	}
	first.stop()
}

// A start with the wrong directories must not stand in the way of the next one with the right ones.
func TestAStartThatIsRefusedForItsDirectoriesLeavesNoMetadata(t *testing.T) {
	a, b := twoDirs(t)
	first := start(t, a+","+b)
	first.dial().create("t", 2)
	first.stop()
	refused := func(dirs string) {
		t.Helper()
		if s, err := inprocess.Try(t.Context(), dirs, new(raw.Log)); err == nil {
			inprocess.Stop(t, s)
			t.Fatalf("%s is taken", dirs)
		}
		if files, err := filepath.Glob(filepath.Join(b, "zurau-metadata.log")); err != nil || len(files) > 0 {
			t.Errorf("%s: %q, %v", dirs, files, err)
		}
	}
	refused(b)
	must(t, os.Rename(a, a+".away"))
	must(t, os.WriteFile(a, nil, 0o600))
	refused(b + "," + a)
	must(t, os.Remove(a))
	must(t, os.Rename(a+".away", a))
	c := start(t, a+","+b).dial()
	for p := range int32(2) {
		c.put("t", p, batch("v"))
	}
}

// What a directory alone knows must not be missed at the one start that looks.
func TestTheFirstStartNeedsAllDirectories(t *testing.T) {
	a, b := twoDirs(t)
	must(t, os.WriteFile(b, nil, 0o600))
	if _, err := inprocess.Try(t.Context(), a+","+b, new(raw.Log)); err == nil || !strings.Contains(err.Error(), "log.dirs that can all be used") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(b))
	start(t, a+","+b).dial().create("t", 1)
}

func TestTheMetadataIsInTheDirectoryThatIsNamedForIt(t *testing.T) {
	a, b := twoDirs(t)
	s := start(t, a+","+b, "metadata.log.dir="+b)
	s.dial().create("t", 2)
	s.stop()
	for dir, want := range map[string]int{a: 0, b: 1} {
		if files, err := filepath.Glob(filepath.Join(dir, "zurau-metadata.log")); err != nil || len(files) != want {
			t.Errorf("%s: %q, %v", dir, files, err)
		}
	}
	if _, err := inprocess.Try(t.Context(), a+","+b, new(raw.Log), "metadata.log.dir="+a); err == nil || !strings.Contains(err.Error(), "is in "+b) {
		t.Errorf("the metadata in another directory than is said: %v", err)
	}
	start(t, a+","+b).dial().put("t", 0, batch("v"))
}
