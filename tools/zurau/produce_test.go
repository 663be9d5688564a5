package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	proc "github.com/zurau/zurau/tests/broker"
)

func TestErrorsOfProduceSayWhichLineAndHowMuchIsThere(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create small --config max.message.bytes=1000")
	has(t, b.fails(exitFailed, "one\ntwo\n"+strings.Repeat("x", 2000)+"\nfour\n", "produce small"),
		"line 3 is longer than 900 bytes", "2 records (6 bytes) delivered to topic small")
	has(t, b.fails(exitFailed, "a=b\nno\n", "produce small --key-separator ="), `line 2 has no key separator "="`, "1 record")
	has(t, b.fails(exitUsage, "", "produce small --record-bytes 1000"), "max.message.bytes")
	has(t, b.fails(exitFailed, "", "produce small --partition 7"), "no partition 7")
	has(t, b.fails(exitFailed, "", "produce small /does/not/exist"), "/does/not/exist")
	has(t, b.fails(exitFailed, "", "produce a/b"), "topic a/b: INVALID_TOPIC_EXCEPTION")
	if got := b.do("consume small --exit-at-end"); got != "one\ntwo\nb\n" {
		t.Errorf("there is %q", got)
	}
}

func TestARecordThatTheBrokerRefusesIsTold(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create compacted --config cleanup.policy=compact")
	has(t, b.fails(exitFailed, "without a key\n", "produce compacted"), "topic compacted: INVALID_RECORD", "0 records (0 bytes) delivered", ", 1 not")
}

func TestAnInterruptedProduceSendsWhatItHasRead(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t")
	cmd := exec.Command(proc.Binary(t), "produce", "t", "-b", b.addr)
	in, err := cmd.StdinPipe()
	must(t, err)
	var said bytes.Buffer
	cmd.Stderr = &said
	must(t, cmd.Start())
	_, err = io.WriteString(in, "one\ntwo\nhalf a li")
	must(t, err)
	// They go without waiting for the end of the input: like this the test knows that they were read.
	if got := b.do("consume t --count 2"); got != "one\ntwo\n" {
		t.Errorf("there is %q", got)
	}
	must(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("%v", err)
	}
	has(t, said.String(), "interrupted; 2 records (6 bytes) delivered to topic t")
}

// Its second record is sent to nobody; like this an idempotent client would wait for its answer for ever.
func TestAProduceWhoseBrokerGoesAwayEndsWithTheDeliveryTimeout(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t")
	in, lines := io.Pipe()
	ended := make(chan result, 1)
	go func() { ended <- zurau(t, in, "produce t --delivery-timeout 1s -b "+b.addr) }()
	_, err := io.WriteString(lines, "one\n")
	must(t, err)
	b.do("consume t --count 1") // it is there
	b.kill()
	_, err = io.WriteString(lines, "two\n")
	must(t, err)
	must(t, lines.Close())
	r := <-ended
	if r.code != exitFailed {
		t.Errorf("exit status %d", r.code)
	}
	has(t, r.errors, "topic t: ", "1 record (3 bytes) delivered to topic t, 1 not")
}

// FuzzCutter: however the input is divided into pieces, the records are the lines.
func FuzzCutter(f *testing.F) {
	f.Add([]byte("a\nbb\n\nlast"), uint8(3), uint8(0))
	f.Add([]byte("0123456789"), uint8(1), uint8(4))
	f.Fuzz(func(t *testing.T, in []byte, piece, size uint8) {
		c := cutter{cutting: cutting{limit: 1 << 20, size: int(size)}}
		var got [][]byte
		emit := func(_, v []byte) error {
			got = append(got, v)
			return nil
		}
		for rest := in; len(rest) > 0; {
			n := min(int(piece)+1, len(rest))
			must(t, c.take(append([]byte(nil), rest[:n]...), emit))
			rest = rest[n:]
		}
		must(t, c.finish(emit))
		between := "\n"
		if size > 0 {
			between = ""
		}
		want := string(in)
		if size == 0 {
			want = strings.TrimSuffix(want, "\n")
		}
		if joined := string(bytes.Join(got, []byte(between))); joined != want {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
