package directories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/broker"
)

// places lists which partition is in which log directory, by what the broker says of itself.
func (r reader) places() (all []string) {
	r.t.Helper()
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](r, kmsg.NewPtrDescribeLogDirsRequest()).Dirs {
		if d.ErrorCode != 0 {
			r.t.Errorf("%s: error %d", d.Dir, d.ErrorCode)
		}
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				all = append(all, fmt.Sprint(filepath.Base(d.Dir), " ", t.Topic, "-", p.Partition))
			}
		}
	}
	slices.Sort(all)
	return all
}

// whose is what a directory says of itself, without the time.
func whose(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "meta.properties"))
	check(t, err)
	lines := slices.Sorted(strings.Lines(string(b)))
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l[0] == '#' }), "")
}

// Two log directories of Kafka (KIP-858), with the metadata in one of them or in a third.
func TestSeveralDirectoriesGoFromKafkaToZurauAndBack(t *testing.T) {
	for name, how := range map[string]struct {
		kafka    syscall.Signal
		zurau    func(*broker.Broker, testing.TB)
		metadata string
	}{
		"stopped in order":                    {syscall.SIGTERM, (*broker.Broker).Stop, ""},
		"killed with the metadata in a third": {syscall.SIGKILL, (*broker.Broker).Kill, "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			defer cancel()
			kafka := newApache(t, "log.cleaner.backoff.ms=100", "offsets.topic.num.partitions=5", "transaction.state.log.num.partitions=5")
			dirs := []string{kafka.data(), filepath.Join(kafka.dir, "more")}
			both := strings.Join(dirs, ",")
			settings := []string{"log.dirs=" + both}
			if how.metadata != "" {
				settings = append(settings, "metadata.log.dir="+filepath.Join(kafka.dir, how.metadata))
			}
			kafka.set = append(kafka.set, settings...)
			v := &traveller{t: t, ctx: ctx, dir: dirs[0], began: time.Now()}
			kafka.start()
			r := newReader(ctx, t, kafka.addr)
			r.fill()
			r.cleaned(holder(t, dirs, "changelog-0"))
			kafka.end(how.kafka)
			kafka.set = append(kafka.set, "log.cleaner.enable=false") // what is compacted stays as it is
			kafka.start()
			r = newReader(ctx, t, kafka.addr)
			v.goOn(r)
			v.leave(r)
			before := r.places()
			if n := len(slices.Compact(toFirst(before))); n != 2 {
				t.Fatalf("Kafka has used %d directories: %q", n, before)
			}
			kafka.end(how.kafka)
			was := []string{whose(t, dirs[0]), whose(t, dirs[1])}

			zurau := broker.Start(t, broker.Options{Dir: both, Set: settings[1:]})
			r = v.arrived("zurau", zurau.Addr)
			differ(t, "places in zurau", r.places(), before)
			v.goOn(r)
			v.leave(r)
			r.create("ours", 2)
			for p := range int32(2) {
				check(t, r.client().ProduceSync(ctx, &kgo.Record{Topic: "ours", Partition: p, Value: []byte("v")}).FirstErr())
			}
			ours := slices.DeleteFunc(r.places(), func(line string) bool { return !strings.Contains(line, " ours-") })
			if len(ours) != 2 {
				t.Errorf("a new topic of two partitions is at %q", ours)
			}
			zurau.Stop(t) // all of it is in Kafka's files
			for i, dir := range dirs {
				if got := whose(t, dir); got != was[i] {
					t.Errorf("%s was of\n%sand is now of\n%s", dir, was[i], got)
				}
			}

			kafka.start()
			r = v.arrived("Kafka again", kafka.addr)
			differ(t, "places in Kafka again", r.places(), before)
			v.goOn(r)
			v.leave(r)
			kafka.end(how.kafka)
			differ(t, "what Kafka has set aside", aside(t, dirs), ours)

			zurau.Dir = dirs[1] + "," + dirs[0] // in another order
			zurau.Start(t)
			r = v.arrived("zurau again", zurau.Addr)
			for p := range int32(2) {
				if end, _ := r.offset("ours", p, latest, 0); end != 1 {
					t.Errorf("ours-%d, which Kafka never knew, ends at %d, want 1", p, end)
				}
			}
			v.goOn(r)
			v.leave(r)
			how.zurau(zurau, t)
			zurau.Start(t)
			v.arrived("zurau after a start", zurau.Addr)
			zurau.Stop(t)
		})
	}
}

// holder returns which of the directories a log is in.
func holder(t *testing.T, dirs []string, log string) string {
	t.Helper()
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, log)); err == nil {
			return dir
		}
	}
	t.Fatalf("%s is in none of %q", log, dirs)
	return ""
}

// aside returns the logs that Kafka has set aside as it does not know their topics, as places does.
func aside(t *testing.T, dirs []string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		strays, err := filepath.Glob(filepath.Join(dir, "*-stray"))
		check(t, err)
		for _, stray := range strays {
			name, _, _ := strings.Cut(filepath.Base(stray), ".")
			all = append(all, filepath.Base(dir)+" "+name)
		}
	}
	slices.Sort(all)
	return all
}

// toFirst returns the first word of each line.
func toFirst(lines []string) (all []string) {
	for _, l := range lines {
		word, _, _ := strings.Cut(l, " ")
		all = append(all, word)
	}
	return all
}
