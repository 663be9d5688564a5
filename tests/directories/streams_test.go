package directories

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// applications are two of Kafka Streams that count words: one with exactly_once_v2 in a group of the protocol of streams, and one with
// at_least_once in a classic group, for which a broker needs no transactions.
var applications = [2]string{"words-exactly-once", "words-at-least-once"}

// words is what the applications count.
type words map[string]int

// feed sends lines, and notes their words.
func (r reader) feed(w words, step int) {
	r.t.Helper()
	var lines []*kgo.Record
	for i := range 100 {
		line := fmt.Sprintf("word-%d word-%d step-%d", i%7, i%13, step)
		lines = append(lines, &kgo.Record{Topic: "lines", Partition: int32(i % 2), Value: []byte(line)})
		for _, word := range strings.Fields(line) {
			w[word]++
		}
	}
	check(r.t, r.client().ProduceSync(r.ctx, lines...).FirstErr())
}

// hasStreams reports whether Kafka Streams is here, and says so where not.
func (r reader) hasStreams() bool {
	if os.Getenv("ZURAU_STREAMS") == "" {
		r.t.Log("without Kafka Streams: ZURAU_STREAMS does not name its jar")
		return false
	}
	return true
}

// prepare makes the topics of people that the applications read and write. Their own they make themselves.
func (r reader) prepare() {
	r.t.Helper()
	r.create("lines", 2)
	for _, app := range applications {
		r.create(app+"-counts", 2)
	}
}

// count runs applications until they have counted all words, with stores that begin empty: what they counted before is in their
// changelogs.
func (r reader) count(w words, apps ...string) {
	r.t.Helper()
	if len(apps) == 0 {
		return
	}
	total := 0
	for _, n := range w {
		total += n
	}
	jars := filepath.Join(oracleHome(r.t), "libs", "*") + ":" + os.Getenv("ZURAU_STREAMS")
	args := []string{"-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", jars, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		filepath.Join("testdata", "WordCount.java"), r.addr, r.t.TempDir(), fmt.Sprint(total)}
	var want []string
	for _, app := range apps {
		guarantee := map[string]string{applications[0]: "exactly_once_v2,streams", applications[1]: "at_least_once,classic"}[app]
		args = append(args, app+"="+guarantee)
		for _, word := range slices.Sorted(maps.Keys(w)) {
			want = append(want, fmt.Sprint(app, " ", word, " ", w[word]))
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("Kafka Streams: %v\n%s", err, &said)
	}
	differ(r.t, "counts of Kafka Streams", strings.Split(strings.TrimSpace(string(out)), "\n"), want)
}
