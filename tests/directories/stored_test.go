package directories

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/kafkadirs"
)

func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the lines of a stored text: those of topics, and those of groups.
func contents(t *testing.T, name string) (topics, groups []string) {
	t.Helper()
	for s := bufio.NewScanner(kafkadirs.Open(t, name+".txt.gz")); s.Scan(); {
		if strings.HasPrefix(s.Text(), "group ") {
			groups = append(groups, s.Text())
		} else {
			topics = append(topics, s.Text())
		}
	}
	return topics, groups
}

// differ reports the first few lines in which two texts differ.
func differ(t testing.TB, what string, got, want []string) {
	t.Helper()
	shown := 0
	for i := range max(len(got), len(want)) {
		line := func(of []string) string {
			if i < len(of) {
				return of[i]
			}
			return "(nothing)"
		}
		if line(got) == line(want) {
			continue
		}
		if t.Errorf("%s, line %d:\n got %s\nwant %s", what, i+1, line(got), line(want)); shown == 4 {
			return
		}
		shown++
	}
}

func TestDirectoriesOfApacheKafkaAreServedAsKafkaServesThem(t *testing.T) {
	for _, name := range []string{"killed", "clean"} {
		t.Run(name, func(t *testing.T) {
			wantTopics, wantGroups := contents(t, name)
			b := broker.Start(t, broker.Options{Dir: kafkadirs.Unpack(t, name)})
			for _, restart := range []string{"first start", "after a kill", "after an orderly stop"} {
				r := newReader(t.Context(), t, b.Addr)
				differ(t, restart, r.text(1700005000000, "t-compact", "t-plain", "t-small", "t-txn"), wantTopics)
				var groups []string
				for g := range 5 {
					for _, line := range r.committed(fmt.Sprintf("group-%d", g)) {
						f := strings.Fields(line) // topic, partition, offset, epoch, metadata
						groups = append(groups, fmt.Sprintf("group %d %s", g, strings.Join(slices.Delete(f, 3, 4), " ")))
					}
				}
				differ(t, restart, groups, wantGroups)
				differ(t, restart, r.committed("real-group"), []string{"t-small 0 3 e-1 "})
				if restart == "first start" {
					b.Kill(t)
				} else {
					b.Stop(t)
				}
				b.Start(t)
			}
		})
	}
}
