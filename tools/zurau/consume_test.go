package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine/record"
	proc "github.com/zurau/zurau/tests/broker"
)

func TestPlacesSayWhatIsPrinted(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("0\n1\n2\n3\n4\n", "produce t")
	between := time.Now().UnixMilli()
	for last := between; between == last; between = time.Now().UnixMilli() { // the next records are to have other milliseconds
		runtime.Gosched()
	}
	b.give("5\n6\n7\n8\n9\n", "produce t")
	at := time.UnixMilli(between).UTC().Format(time.RFC3339Nano)
	for flags, want := range map[string]string{
		"--exit-at-end":           "0123456789",
		"--from start --to end":   "0123456789",
		"--from 7 --to end":       "789",
		"--from 3 --to 5":         "34",
		"--from -2 --exit-at-end": "89",
		"--from -99 --to -8":      "01",
		"--to 0":                  "",
		"--from 99 --to end":      "",
		"--from end --to end":     "",
		"--count 4":               "0123",
		"--from 2 --count 3":      "234",
		fmt.Sprintf("--from %dms --to end", between): "56789",
		"--from " + at + " --exit-at-end":            "56789",
		"--to " + at:                                 "01234",
		"--from 9999999999999ms --to end":            "",
	} {
		if got := b.do("consume t "+flags, "--format", "%v"); got != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}

func TestPartitionsAreReadAllOrAsAsked(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 3")
	for p := range 3 {
		b.give(fmt.Sprintf("a%d\nb%d\n", p, p), fmt.Sprintf("produce t --partition %d", p))
	}
	if got := b.do("consume t --exit-at-end --partition 1", "--format", `%p:%o:%v\n`); got != "1:0:a1\n1:1:b1\n" {
		t.Errorf("partition 1: %q", got)
	}
	got := b.do("consume t --exit-at-end")
	for p := range 3 {
		first, second := strings.Index(got, fmt.Sprintf("a%d\n", p)), strings.Index(got, fmt.Sprintf("b%d\n", p))
		if first < 0 || second < first {
			t.Errorf("partition %d is not in order in %q", p, got)
		}
	}
	has(t, b.fails(exitFailed, "", "consume t --partition 5"), "no partition 5, but 3 partitions")
	has(t, b.fails(exitFailed, "", "consume nothing"), "topic nothing: UNKNOWN_TOPIC_OR_PARTITION")
	if got := b.do("topic list"); got != "t\n" {
		t.Errorf("a consumer has created a topic: %q", got)
	}
}

func TestJSONHoldsAllOfARecord(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("k\tv\xff\nk\tNULL\n", `produce t --key-separator \t --null-value NULL --header h=1`)
	var first, second jsonRecord
	out := strings.Split(b.do("consume t --json --exit-at-end"), "\n")
	must(t, json.Unmarshal([]byte(out[0]), &first))
	must(t, json.Unmarshal([]byte(out[1]), &second))
	if *first.Key != "k" || first.Value != nil || first.ValueBase64 != "dv8=" || first.Headers[0].Key != "h" || first.Timestamp == 0 {
		t.Errorf("%s", out[0])
	}
	if second.Value != nil || second.ValueBase64 != "" || second.Offset != 1 {
		t.Errorf("%s", out[1])
	}
	if got := b.do("consume t --exit-at-end --null-value NULL", "--key-separator", `\t`); got != "k\tv\xff\nk\tNULL\n" {
		t.Errorf("%q", got)
	}
}

func TestAGroupGoesOnWhereItCommitted(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("1\n2\n3\n4\n5\n", "produce t")
	for _, c := range []struct{ flags, want string }{
		{"--count 2", "12"}, // what was fetched and not printed is not committed
		{"--exit-at-end", "345"},
		{"--exit-at-end", ""},
	} {
		if got := b.do("consume t --group g "+c.flags, "--format", "%v"); got != c.want {
			t.Errorf("%s: %q, want %q", c.flags, got, c.want)
		}
	}
	if got := b.do("consume t --group other --exit-at-end --from 3", "--format", "%v"); got != "45" {
		t.Errorf("a new group from 3: %q", got)
	}
}

func TestAReaderThatGoesAwayEndsConsumeQuietly(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give(string(lines(20_000)), "produce t")
	for _, flags := range []string{"", "--group g"} {
		cmd := exec.Command(proc.Binary(t), append([]string{"consume", "t", "-b", b.addr}, strings.Fields(flags)...)...)
		out, err := cmd.StdoutPipe()
		must(t, err)
		var said strings.Builder
		cmd.Stderr = &said
		must(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		must(t, err)
		must(t, out.Close())
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE {
			t.Errorf("%s: ended with %v", flags, err)
		}
		if said.Len() > 0 {
			t.Errorf("%s: said %q", flags, said.String())
		}
	}
	// The member that the pipe ended has left its group: the next one need not wait for its time to run out.
	if n := b.members("g"); n != 0 {
		t.Errorf("the group has %d members", n)
	}
}

// members asks how many members a group has.
func (b *broker) members(group string) int {
	b.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr))
	must(b.t, err)
	defer cl.Close()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(b.t.Context(), cl)
	must(b.t, err)
	must(b.t, kerr.ErrorForCode(resp.Groups[0].ErrorCode))
	return len(resp.Groups[0].Members)
}

// TestTheEndIsSeenBehindRecordsThatCompactionRemoved lays a log as compaction leaves it: the last batch has offsets, and
// no records any more. A client is told nothing of it.
func TestTheEndIsSeenBehindRecordsThatCompactionRemoved(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("first\n", "produce t --key-separator i")
	b.stop()
	dir := filepath.Join(b.dir, "t-0")
	name := filepath.Join(dir, "00000000000000000000.log")
	file, err := os.ReadFile(name)
	must(t, err)
	empty := record.NewBuilder(record.None)
	empty.BaseOffset, empty.PartitionLeaderEpoch = 1, 0
	batch := empty.Add(1, []byte("a"), nil).Add(1, []byte("b"), nil).Bytes()[:record.HeaderSize]
	binary.BigEndian.PutUint32(batch[8:], record.HeaderSize-12) // length
	binary.BigEndian.PutUint32(batch[57:], 0)                   // count
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	must(t, os.WriteFile(name, append(file, batch...), 0o644))
	must(t, os.Remove(filepath.Join(b.dir, ".kafka_cleanshutdown")))
	b = serve(t, b.dir)
	has(t, b.do("topic describe t --json"), `"end":3`)
	for _, flags := range []string{"", "--group g", "--from 1"} {
		want := map[bool]string{true: "rst\n", false: ""}[flags != "--from 1"]
		if got := b.do("consume t --exit-at-end " + flags); got != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
}

func TestAnInterruptedConsumeHasDoneItsWork(t *testing.T) {
	b := serve(t, t.TempDir())
	b.give("1\n2\n", "produce t")
	cmd := exec.Command(proc.Binary(t), "consume", "t", "--group", "g", "-b", b.addr)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	r := bufio.NewReader(out)
	for range 2 {
		_, err := r.ReadString('\n')
		must(t, err)
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	must(t, cmd.Wait())
	if got := b.do("consume t --group g --exit-at-end"); got != "" {
		t.Errorf("not committed: %q", got)
	}
}

func TestFormatsAreParsed(t *testing.T) {
	r := &kgo.Record{Topic: "t", Partition: 2, Offset: 3, Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(5),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("b")}}}
	for format, want := range map[string]string{
		`%t %p %o %k %v %s %T %h`: "t 2 3 k v v 5 a=b",
		`%K%V%S%%\n\t\x41\\`:      "111%\n\tA\\",
		`\%v`:                     "!", `%`: "!", `%z`: "!", `\x4`: "!", `\`: "!", ``: "",
	} {
		p, err := parseFormat(format)
		if err != nil {
			if want != "!" {
				t.Errorf("%q: %v", format, err)
			}
			continue
		}
		if got := string(p(nil, r)); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}
