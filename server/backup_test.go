package server_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/kafkadirs"
	"github.com/zurau/zurau/tests/raw"
)

// inTwoDirs is a broker with two log directories and a topic in both.
func inTwoDirs(t *testing.T) (b *broker, place string) {
	t.Helper()
	place = t.TempDir()
	b = start(t, filepath.Join(place, "one")+","+filepath.Join(place, "two"))
	c := b.dial()
	c.create("t", 4, "flush.messages", "1")
	for p := range int32(4) {
		c.put("t", p, batch("one", "two"))
	}
	return b, place
}

// only fails the test where a place has anything else.
func only(t *testing.T, place string, want ...string) {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(place)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("there are %v, want %v", names, want)
	}
}

func TestABackupThatFailsInOneDirectoryLeavesNothingOfTheOthers(t *testing.T) {
	b, place := inTwoDirs(t)
	at := func(name string) string { return filepath.Join(place, name) }
	backup := func(ctx context.Context, to ...string) error {
		_, err := b.Backup(ctx, server.BackupOptions{To: to})
		return err
	}
	if err := backup(context.Background(), at("a"), at("two")); !errors.Is(err, os.ErrExist) && !strings.Contains(err.Error(), "lies within") {
		t.Errorf("a place that is taken: %v", err)
	}
	if err := os.Mkdir(at("taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, to := range [][]string{{at("a"), at("taken")}, {at("taken"), at("a")}} {
		if err := backup(context.Background(), to...); !errors.Is(err, os.ErrExist) {
			t.Errorf("a place that is taken: %v", err)
		}
	}
	for _, to := range [][]string{{at("a")}, {at("a"), at("a") + "/"}, {at("a"), at("one/b")}, {at("two"), at("b")}, nil} {
		if err := backup(context.Background(), to...); err == nil {
			t.Errorf("a backup to %v is made", to)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := backup(ctx, at("a"), at("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that has ended: %v", err)
	}
	only(t, place, "one", "taken", "two")
	if err := backup(context.Background(), at("a"), at("b")); err != nil {
		t.Fatal(err)
	}
	only(t, place, "a", "b", "one", "taken", "two")
}

func TestOneBackupIsMadeAtATimeAndABrokerGoesOnBesideIt(t *testing.T) {
	b, place := inTwoDirs(t)
	to := []string{filepath.Join(place, "a"), filepath.Join(place, "b")}
	begun, next, made := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := b.Backup(context.Background(), server.BackupOptions{To: to, Progress: func(int64, int64) {
			select {
			case begun <- struct{}{}:
			default:
			}
			<-next
		}})
		made <- err
	}()
	<-begun
	if _, err := b.Backup(context.Background(), server.BackupOptions{To: []string{to[0] + "2", to[1] + "2"}}); err == nil {
		t.Error("two at a time")
	}
	c := b.dial()
	c.create("meanwhile", 2, "flush.messages", "1") // the metadata of the backup may know it
	c.put("meanwhile", 0, batch("one"))
	c.put("t", 2, batch("three"))
	close(next)
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	b.stop()
	second := start(t, strings.Join(to, ","))
	c = second.dial()
	for p := range int32(4) {
		r := fetchRequest("t", 0, 0)
		r.Topics[0].Partitions[0].Partition = p
		if got := c.fetched(r); len(got) < 2 || got[0] != "one" || got[1] != "two" {
			t.Errorf("partition %d of the backup has %q", p, got)
		}
	}
	c.put("meanwhile", 1, batch("later")) // known, and empty or not, and served
}

func TestABrokerStartsOnNoBackupThatWasNotFinished(t *testing.T) {
	place := t.TempDir()
	left := filepath.Join(place, "data.incomplete")
	must(t, os.Mkdir(left, 0o755))
	must(t, os.WriteFile(filepath.Join(left, engine.Unfinished), nil, 0o600))
	for _, dir := range []string{left, left + "/", filepath.Join(place, "data"), filepath.Join(place, "other") + "," + filepath.Join(place, "data")} {
		s, err := inprocess.Try(context.Background(), dir, new(raw.Log))
		if err == nil {
			inprocess.Stop(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), left+" is a backup that was not finished") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	start(t, filepath.Join(place, "another")).stop()
	must(t, os.Mkdir(filepath.Join(place, "data"), 0o755))
	start(t, filepath.Join(place, "data")).stop()            // another one was being made, of what is here
	start(t, filepath.Join(place, "mine.incomplete")).stop() // a name is no more than that
}

func TestADirectoryThatIsOfflineFailsABackupUnlessItIsLeftOut(t *testing.T) {
	b, place := inTwoDirs(t)
	b.stop()
	at := func(name string) string { return filepath.Join(place, name) }
	must(t, os.Rename(at("two"), at("away")))
	must(t, os.WriteFile(at("two"), nil, 0o600)) // a disk that is not to be read
	b = start(t, b.dir)
	o := server.BackupOptions{To: []string{at("a"), at("b")}}
	if _, err := b.Backup(context.Background(), o); err == nil || !strings.Contains(err.Error(), at("two")+", which is offline") {
		t.Errorf("of a directory that is offline: %v", err)
	}
	only(t, place, "away", "one", "two")
	o.SkipOffline = true
	got, err := b.Backup(context.Background(), o)
	must(t, err)
	if len(got) != 2 || got[0].Path != at("a") || got[0].Logs == 0 || got[0].Missing != "" || got[1].Missing == "" {
		t.Errorf("it says %+v", got)
	}
	only(t, place, "a", "away", "one", "two")
	b.stop()
	start(t, at("a")).stop()
}

// A broker that has taken a directory of Kafka's gives it back in its backups, too.
func TestABackupOfADirectoryOfKafkasHasKafkasMetadata(t *testing.T) {
	dir := kafkadirs.Unpack(t, "clean")
	b := start(t, dir)
	before := topicsOf(b.dial())
	to := filepath.Join(t.TempDir(), "backup")
	_, err := b.Backup(context.Background(), server.BackupOptions{To: []string{to}})
	must(t, err)
	b.stop()
	const folder = "__cluster_metadata-0"
	if want := sums(t, filepath.Join(dir, folder)); len(want) < 3 || !maps.Equal(sums(t, filepath.Join(to, folder)), want) {
		t.Errorf("the backup has not the %d files of %s", len(want), folder)
	}
	for _, name := range []string{"meta.properties", "bootstrap.checkpoint"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(t, err)
		if got := read(t, to, name); got != string(want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	second := start(t, to)
	if got := topicsOf(second.dial()); !slices.Equal(got, before) {
		t.Errorf("the backup has the topics %v, and the source %v", got, before)
	}
}
