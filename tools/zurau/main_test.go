package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	proc "github.com/zurau/zurau/tests/broker"
)

func TestMain(m *testing.M) { os.Exit(proc.Main(m)) }

// broker is a running zurau serve.
type broker struct {
	*proc.Broker
	t    *testing.T
	addr string
	dir  string
}

// serve starts a broker on a directory and returns when it is ready.
func serve(t *testing.T, dir string) *broker {
	t.Helper()
	b := proc.Start(t, proc.Options{Dir: dir, Set: []string{"group.initial.rebalance.delay.ms=0"}}) // else a first member waits 3 s for others
	return &broker{Broker: b, t: t, addr: b.Addr, dir: dir}
}

// stop stops the broker in order.
func (b *broker) stop() {
	b.t.Helper()
	b.Stop(b.t)
}

// kill stops the broker at once.
func (b *broker) kill() { b.Kill(b.t) }

// result is what a command did.
type result struct {
	out, errors string
	code        int
}

// zurau runs a command with the words of a line, then more arguments.
func zurau(t *testing.T, in io.Reader, words string, more ...string) result {
	t.Helper()
	cmd := exec.Command(proc.Binary(t), append(strings.Fields(words), more...)...)
	var out, errors bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errors
	watch := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer watch.Stop()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{out.String(), errors.String(), cmd.ProcessState.ExitCode()}
}

// do runs a command at the broker that has to succeed and returns its output.
func (b *broker) do(words string, more ...string) string {
	b.t.Helper()
	return b.give("", words, more...)
}

// give is do with standard input.
func (b *broker) give(in, words string, more ...string) string {
	b.t.Helper()
	r := zurau(b.t, strings.NewReader(in), words+" -b "+b.addr, more...)
	if r.code != 0 {
		b.t.Fatalf("zurau %s %q: exit status %d: %s", words, more, r.code, r.errors)
	}
	return r.out
}

// fails runs a command that has to fail and returns what it says.
func (b *broker) fails(code int, in, words string, more ...string) string {
	b.t.Helper()
	r := zurau(b.t, strings.NewReader(in), words+" -b "+b.addr, more...)
	if r.code != code {
		b.t.Fatalf("zurau %s %q: exit status %d, want %d: %s", words, more, r.code, code, r.errors)
	}
	return r.errors
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in %q", w, got)
		}
	}
}

func TestWrongCallsExitWithTwo(t *testing.T) {
	for _, words := range []string{
		"nothing", "topic", "topic lost", "topic create", "topic create a --partitions 0", "topic create a --config x",
		"topic alter a", "topic alter", "topic list a", "topic delete", "produce", "produce a b c", "produce a --acks 2",
		"produce a --compression rar", "produce a --partition -1", "produce a --record-bytes 0", "produce a --record-bytes 5 --null-value x",
		`produce a --key-separator \q`, "produce a --header x", "consume", "consume a --from nowhere", "consume a --to x",
		"consume a --to 5 --exit-at-end", "consume a --count 0", "consume a --raw --json", "consume a --format %q", "consume a --group g --partition 1",
		"consume a -b host:port", "consume a -b :1", "consume a --timeout 0s", "consume a --unknown", "log", "log dump", "log repair", "log repair --cut --skip a", "log verify --records=x a",
		"serve --listen x", "serve --listen x:99999", "serve --set x", "serve --log-level x", "serve a b",
	} {
		want := exitUsage
		if words == "topic" || words == "log" {
			want = 0 // they print their help
		}
		if r := zurau(t, nil, words); r.code != want || want == exitUsage && !strings.Contains(r.errors, "--help") {
			t.Errorf("zurau %s: exit status %d: %s", words, r.code, r.errors)
		}
	}
}

func TestWrongCallsSayWhatWasWantedInstead(t *testing.T) {
	for words, want := range map[string]string{
		"nothing":                           `zurau: unknown command "nothing"`,
		"topic lost":                        `zurau: topic: unknown command "lost"`,
		"topic create a --partitions x":     `--partitions "x": want a whole number`,
		"topic create a --config =x":        `--config "=x": want KEY=VALUE`,
		"consume a --partition 1,x":         `--partition "1,x": want whole numbers`,
		"consume a --timeout 3":             `--timeout "3": want a duration such as`,
		"produce a --partition 99999999999": `--partition "99999999999": want a whole number`,
		"serve --listen x":                  `--listen "x": want HOST:PORT`,
		"serve --metrics-listen x":          `--metrics-listen "x": want HOST:PORT`,
		"serve --set x":                     `--set "x": want KEY=VALUE`,
	} {
		has(t, zurau(t, nil, words).errors, want)
	}
}

func TestAnOutputThatIsFullIsToldOnce(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	o := newOutput(full)
	_, err = o.Write(make([]byte, outputBytes+1))
	if err = o.done(err); err == nil || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("%v", err)
	}
}

func TestABrokerThatIsNotThereIsToldAtOnce(t *testing.T) {
	for _, words := range []string{"topic list", "produce a", "consume a"} {
		r := zurau(t, strings.NewReader("x\n"), words+" -b 127.0.0.1:1,localhost:1")
		if r.code != exitFailed {
			t.Errorf("zurau %s: exit status %d", words, r.code)
		}
		has(t, r.errors, "no broker at 127.0.0.1:1", "no broker at localhost:1", "refused")
	}
}
