package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/server/control"
	proc "github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tools/logfile"
)

// backedUp is a broker's directory with a topic, a group that has committed, and something in it that is only in memory when the
// broker is killed.
func backedUp(t *testing.T, kill bool) string {
	t.Helper()
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1 --config flush.messages=1")
	b.do("topic create async --partitions 1")
	b.give("a\nb\nc\n", "produce t")
	b.do("consume t --from start --count 2 --group g")
	b.give("d\n", "produce async")
	if kill {
		b.kill()
	} else {
		b.stop()
	}
	return b.dir
}

// sound has log verify look through a backup.
func sound(t *testing.T, dir string) {
	t.Helper()
	if r := zurau(t, nil, "log verify --records", dir); r.code != 0 || !strings.Contains(r.out, " 0 problems, 0 torn") {
		t.Errorf("the backup is not sound: exit status %d: %s%s", r.code, r.out, r.errors)
	}
}

// notThere fails the test where a backup has left something.
func notThere(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for _, name := range []string{dir, dir + ".incomplete"} {
			if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is there: %v", name, err)
			}
		}
	}
}

func TestABrokerIsStartedFromABackup(t *testing.T) {
	for name, kill := range map[string]bool{"after an orderly stop": false, "after kill -9": true} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t, kill)
			to := filepath.Join(t.TempDir(), "backup")
			r := zurau(t, nil, "log backup", dir, to)
			if r.code != 0 {
				t.Fatalf("exit status %d: %s%s", r.code, r.out, r.errors)
			}
			has(t, r.out, to+": ", " logs, ", "; bytes shared ")
			if strings.Contains(r.out, "was not stopped in order") != kill {
				t.Errorf("killed %t: %s", kill, r.out)
			}
			must(t, os.RemoveAll(dir)) // nothing is only there
			sound(t, to)
			b := serve(t, to)
			if got := b.do("consume t --from start --count 3"); got != "a\nb\nc\n" {
				t.Errorf("the backup has %q", got)
			}
			if got := b.do("consume t --count 1 --group g"); got != "c\n" {
				t.Errorf("the group goes on with %q", got)
			}
			if got := b.do("consume async --from start --count 1"); got != "d\n" {
				t.Errorf("the backup has %q of the async topic", got)
			}
			b.give("e\n", "produce t")
			b.stop()
		})
	}
}

func TestWhatABackupHasIsTold(t *testing.T) {
	dir := backedUp(t, false)
	to := filepath.Join(t.TempDir(), "backup")
	r := zurau(t, nil, "log backup --json --no-links", dir, to)
	var line control.Backup
	must(t, json.Unmarshal([]byte(r.out), &line))
	if r.code != 0 || line.Path != to || line.Logs < 3 || line.Records < 4 || line.Bytes["copy"]+line.Bytes["reflink"] == 0 || line.Bytes["link"] != 0 {
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
}

func TestABackupThatCannotBeMadeIsRefused(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1")
	b.give("a\n", "produce t")
	dest := filepath.Join(t.TempDir(), "backup")
	refused := func(code int, want string, words ...string) {
		t.Helper()
		r := zurau(t, nil, "log backup", words...)
		if r.code != code {
			t.Errorf("%q: exit status %d: %s%s", words, r.code, r.out, r.errors)
		}
		has(t, r.errors, want)
		notThere(t, dest)
	}
	for range 2 { // by the broker, and without
		refused(exitFailed, "already exists", b.dir, t.TempDir())
		refused(exitFailed, "it lies within the", b.dir, filepath.Join(b.dir, "backup"))
		refused(exitUsage, "2 directories and 1 places", b.dir+","+t.TempDir(), dest)
		if b.Broker != nil {
			refused(exitFailed, "this broker has the log directories "+b.dir, b.dir+","+t.TempDir(), dest+","+dest+"2")
			b.stop()
			b.Broker = nil
			lock, err := logfile.Lock(b.dir) // as a broker has it that cannot be asked
			must(t, err)
			refused(exitFailed, "name all of its directories, or go into its container, or stop it first", b.dir, dest)
			must(t, lock.Close())
		}
	}
	refused(exitFailed, "is no log directory", t.TempDir(), dest)
	refused(exitFailed, "no such file", filepath.Join(b.dir, "none"), dest)
	refused(exitUsage, "is a file: want a log directory", filepath.Join(b.dir, "meta.properties"), dest)
	refused(exitUsage, "an argument is missing", b.dir)
}

// A source that is only read has no new file in it, and no changed one.
func TestABackupOfAStoppedBrokerChangesNothingInItsSource(t *testing.T) {
	dir := backedUp(t, true)
	must(t, os.Remove(filepath.Join(dir, ".lock"))) // as in a backup, which nobody has had yet
	list := func() (all string) {
		must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			must(t, err)
			info, err := d.Info()
			all += fmt.Sprintln(path, info.Mode(), info.ModTime(), info.Size())
			return err
		}))
		return all
	}
	before := list()
	to := filepath.Join(t.TempDir(), "backup")
	if r := zurau(t, nil, "log backup --no-links", dir, to); r.code != 0 { // a link would change the number of names, as it has to
		t.Fatalf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	if after := list(); after != before {
		t.Errorf("the source was\n%sand is\n%s", before, after)
	}
	sound(t, to)
}

// load produces numbers to a topic until it is stopped, and says then how many were acknowledged.
func (b *broker) load(topic string) (stop func() (acknowledged int)) {
	b.t.Helper()
	in, out := io.Pipe()
	cmd := exec.Command(proc.Binary(b.t), "produce", topic, "-b", b.addr, "--batch-bytes", "2000", "--linger", "0s")
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = in, &errs
	must(b.t, cmd.Start())
	done := make(chan int)
	ended := make(chan struct{})
	go func() {
		n := 0
		tick := time.NewTicker(500 * time.Microsecond)
		defer tick.Stop()
		for ; ; n++ {
			select {
			case <-ended:
				done <- n
				return
			case <-tick.C:
			}
			if _, err := fmt.Fprintf(out, "%06d %s\n", n, strings.Repeat("x", 200)); err != nil {
				done <- n
				return
			}
		}
	}()
	return func() int {
		b.t.Helper()
		close(ended)
		n := <-done
		out.Close()
		if err := cmd.Wait(); err != nil {
			b.t.Errorf("produce to %s: %v: %s", topic, err, errs.String())
		}
		return n
	}
}

// numbered consumes what a load has produced, which has to be in order and without a gap, and returns how much there is.
func (b *broker) numbered(topic string) int {
	b.t.Helper()
	n := 0
	for line := range strings.Lines(b.do("consume " + topic + " --from start --exit-at-end")) {
		if want := fmt.Sprintf("%06d ", n); !strings.HasPrefix(line, want) {
			b.t.Fatalf("%s has %q, want %s", topic, line, want)
		}
		n++
	}
	return n
}

func TestABrokerThatRunsMakesABackupAndGoesOn(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create sync --partitions 1 --config flush.messages=1 --config segment.bytes=1048576")
	b.do("topic create async --partitions 1 --config segment.bytes=1048576")
	b.do("topic create before --partitions 1 --config flush.messages=1")
	b.give("a\nb\nc\n", "produce before")
	b.do("consume before --from start --count 2 --group g")
	for _, topic := range []string{"sync", "async"} { // some sealed segments
		b.give(strings.Repeat(strings.Repeat("x", 999)+"\n", 3000), "produce "+topic, "--batch-bytes", "100000")
	}
	syncLoad, asyncLoad := b.load("busy-sync"), b.load("busy-async")
	defer func() {
		if t.Failed() {
			syncLoad()
			asyncLoad()
		}
	}()
	place := t.TempDir()
	to := filepath.Join(place, "backup")
	cmd := exec.Command(proc.Binary(t), "log", "backup", "--json", b.dir, "backup") // relative to the command, not to the broker
	cmd.Dir = place
	out, err := cmd.Output()
	must(t, err)
	var told control.Backup
	must(t, json.Unmarshal(out, &told))
	if told.Path != to || told.Bytes["link"]+told.Bytes["reflink"] < 4<<20 || told.Records < 6003 || told.Unclean {
		t.Errorf("it says %s", out)
	}
	b.give("d\n", "produce before") // the source goes on, before the backup is used and while it is
	sound(t, to)
	second := serve(t, to)
	if got := second.do("consume before --from start --exit-at-end"); got != "a\nb\nc\n" {
		t.Errorf("the backup has %q", got)
	}
	if got := second.do("consume before --count 1 --group g"); got != "c\n" {
		t.Errorf("the group goes on with %q", got)
	}
	for _, topic := range []string{"sync", "async"} {
		if n := strings.Count(second.do("consume "+topic+" --from start --exit-at-end"), "\n"); n != 3000 {
			t.Errorf("the backup has %d records of %s", n, topic)
		}
	}
	had := map[string]int{}
	for _, topic := range []string{"busy-sync", "busy-async"} {
		had[topic] = second.numbered(topic)
	}
	second.give("mine\n", "produce before")
	second.do("topic delete async")
	second.stop()
	sound(t, to)
	sent := map[string]int{"busy-sync": syncLoad(), "busy-async": asyncLoad()}
	for topic, n := range sent {
		if got := b.numbered(topic); got != n || had[topic] > n {
			t.Errorf("%s has %d records, the backup %d, and %d were sent", topic, got, had[topic], n)
		}
	}
	if got := b.do("consume before --from start --exit-at-end"); got != "a\nb\nc\nd\n" {
		t.Errorf("the source has %q", got)
	}
	if n := strings.Count(b.do("consume async --from start --exit-at-end"), "\n"); n != 3000 {
		t.Errorf("the source has %d records of a topic that was deleted in the backup", n)
	}
	b.stop()
	sound(t, b.dir)
}

func TestABackupOfSeveralDirectoriesIsOfAllOfThem(t *testing.T) {
	place := t.TempDir()
	join := func(names ...string) string {
		for i := range names {
			names[i] = filepath.Join(place, names[i])
		}
		return strings.Join(names, ",")
	}
	b := serve(t, join("one", "two"))
	b.do("topic create t --partitions 6")
	for p := range 6 {
		b.give(fmt.Sprintln(p), fmt.Sprintf("produce t --partition %d", p))
	}
	b.do("consume t --from start --count 6 --group g")
	for _, from := range []string{join("two"), join("one"), join("one", "one")} {
		r := zurau(t, nil, "log backup", from, strings.ReplaceAll(from, place, filepath.Join(place, "to")))
		if r.code != exitFailed || !strings.Contains(r.errors, "name all of") {
			t.Errorf("%s: exit status %d: %s%s", from, r.code, r.out, r.errors)
		}
	}
	r := zurau(t, nil, "log backup", join("two", "one"), join("two.b", "one.b"))
	first, second, _ := strings.Cut(r.out, "\n")
	if r.code != 0 || !strings.HasPrefix(first, join("two.b")+": ") || !strings.HasPrefix(second, join("one.b")+": ") {
		t.Fatalf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	b.stop()
	if r := zurau(t, nil, "log backup", join("one", "two"), join("one.c", "two.c")); r.code != 0 {
		t.Fatalf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	if r := zurau(t, nil, "log backup", join("one", "two"), join("one.d", "two.c")); r.code != exitFailed || !strings.Contains(r.errors, "exists") {
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	notThere(t, join("one.d"))
	for _, dirs := range []string{join("one.b", "two.b"), join("one.c", "two.c")} {
		b := serve(t, dirs)
		if got := b.do("consume t --from start --exit-at-end"); strings.Count(got, "\n") != 6 {
			t.Errorf("%s has %q", dirs, got)
		}
		b.give("new\n", "produce t --partition 3")
		if got := b.do("consume t --count 1 --group g"); got != "new\n" {
			t.Errorf("the group goes on with %q", got)
		}
		b.stop()
		for dir := range strings.SplitSeq(dirs, ",") {
			sound(t, dir)
		}
	}
}

// begun returns when a backup to a place has begun, or is over.
func begun(t *testing.T, to string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		if _, err := os.Stat(filepath.Join(to+".incomplete", "meta.properties")); err == nil {
			return
		}
		if _, err := os.Stat(to); err == nil {
			return
		}
	}
	t.Fatal("no backup begins")
}

// tooLate reports whether a backup was made before anybody came in between, which a test has no say in, and makes place for another. It gives
// up after some.
func tooLate(t *testing.T, try int, to string) bool {
	t.Helper()
	if _, err := os.Stat(to); err != nil {
		return false
	}
	if try == 10 {
		t.Fatal("each backup was made before somebody came in between")
	}
	must(t, os.RemoveAll(to))
	return true
}

// large is a broker of which a copy takes long enough for something to come in between.
func large(t *testing.T) *broker {
	b := serve(t, t.TempDir())
	b.do("topic create t --partitions 1 --config flush.messages=1")
	b.give("a\nb\nc\n", "produce t")
	b.do("topic create many --partitions 100")
	var keys strings.Builder
	for key := range 1000 {
		fmt.Fprintf(&keys, "%d,%s\n", key, strings.Repeat("x", 500))
	}
	b.give(keys.String(), "produce many --key-separator ,")
	return b
}

func TestAKillOfTheBrokerInAnUnfinishedBackupIsToldAndTheSourceIsRight(t *testing.T) {
	b := large(t)
	to := filepath.Join(t.TempDir(), "backup")
	var r result
	for try := 0; ; try++ {
		said := make(chan result, 1)
		go func() { said <- zurau(t, nil, "log backup --no-links", b.dir, to) }()
		begun(t, to)
		b.kill()
		if r = <-said; !tooLate(t, try, to) {
			break
		}
		b.Start(t)
	}
	if r.code != exitFailed {
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	has(t, r.errors, "the broker has ended, or was killed", "ends in .incomplete")
	left := to + ".incomplete"
	for _, dir := range []string{to, left} {
		r := zurau(t, nil, "serve --listen 127.0.0.1:0 --data", dir)
		if r.code != exitFailed {
			t.Errorf("a broker on %s: exit status %d", dir, r.code)
		}
		has(t, r.errors, left+" is a backup that was not finished")
	}
	if r = zurau(t, nil, "log verify", left); r.code != exitFailed {
		t.Errorf("verify: exit status %d", r.code)
	}
	has(t, r.out, "backup-unfinished")
	b.Start(t)
	if got := b.do("consume t --from start --exit-at-end"); got != "a\nb\nc\n" {
		t.Errorf("the source has %q", got)
	}
	if r := zurau(t, nil, "log backup", b.dir, to); r.code != 0 { // in the place of what was left
		t.Errorf("exit status %d: %s%s", r.code, r.out, r.errors)
	}
	b.stop()
	sound(t, b.dir)
	sound(t, to)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

func TestAKillOfTheCommandTakesTheBackupBack(t *testing.T) {
	b := large(t)
	to := filepath.Join(t.TempDir(), "backup")
	for try := 0; ; try++ {
		cmd := exec.Command(proc.Binary(t), "log", "backup", "--no-links", b.dir, to)
		must(t, cmd.Start())
		begun(t, to)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		gone(t, to+".incomplete")
		if !tooLate(t, try, to) {
			break
		}
	}
	notThere(t, to)
	if got := b.do("consume t --from start --exit-at-end"); got != "a\nb\nc\n" {
		t.Errorf("the source has %q", got)
	}
	b.stop()
	has(t, b.Log(), "the backup was not made")
	sound(t, b.dir)
}

// gone returns when a folder is.
func gone(t *testing.T, dir string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the broker goes on with a backup that nobody waits for")
		}
	}
}

// Many a tool refuses to copy what is neither a file nor a folder.
func TestAKilledBrokerLeavesFilesAndFoldersAlone(t *testing.T) {
	must(t, os.CopyFS(filepath.Join(t.TempDir(), "copy"), os.DirFS(backedUp(t, true))))
}
