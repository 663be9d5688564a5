package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	proc "github.com/zurau/zurau/tests/broker"
)

// lines returns a file of so many lines, of which one in fifty is long.
func lines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d %x %s\n", i, r.Uint64(), strings.Repeat("long ", r.IntN(50)/49*r.IntN(100)))
	}
	return b.Bytes()
}

func TestLinesComeBackByteForByte(t *testing.T) {
	n := 100_000
	if proc.Long() {
		n = 1_000_000
	}
	b := serve(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "lines.txt")
	whole := lines(n)
	must(t, os.WriteFile(file, whole, 0o644))
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		has(t, b.do("produce --json --compression "+codec+" lines-"+codec, file), fmt.Sprintf(`"records":%d,`, n), `"failed":0`)
		if got := b.do("consume --exit-at-end lines-" + codec); got != string(whole) {
			t.Errorf("%s: %d bytes came back of %d", codec, len(got), len(whole))
		}
	}
}

func TestATarBallComesBackByteForByte(t *testing.T) {
	n := 20_000_003
	if proc.Long() {
		n = 300_000_007
	}
	b := serve(t, t.TempDir())
	in, out := filepath.Join(t.TempDir(), "in.tar"), filepath.Join(t.TempDir(), "out.tar")
	ball := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(ball)
	must(t, os.WriteFile(in, ball, 0o644))
	has(t, b.do("produce backup --record-bytes 1000000 --json", in), fmt.Sprintf(`"records":%d,"bytes":%d,`, n/1_000_000+1, n))
	f, err := os.Create(out)
	must(t, err)
	cmd := exec.Command(proc.Binary(t), "consume", "backup", "--raw", "--exit-at-end", "-b", b.addr)
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	must(t, cmd.Run())
	must(t, f.Close())
	got, err := os.ReadFile(out)
	must(t, err)
	if !bytes.Equal(got, ball) {
		t.Errorf("%d bytes came back of %d", len(got), n)
	}
}

func TestInputIsCutIntoRecordsExactly(t *testing.T) {
	b := serve(t, t.TempDir())
	for i, c := range []struct{ in, flags, out, format string }{
		{"a\nb\n", "", "a|b|", "%v|"},
		{"a\n\nlast", "", "a||last|", "%v|"},
		{"", "", "", "%v|"},
		{"\n", "", "|", "%v|"},
		{"k\tv\tw\n\tx\n", `--key-separator \t`, "k=v\tw|=x|", "%k=%v|"},
		{"k:gone\nk:\n", "--key-separator : --null-value gone", "1:-1|1:0|", "%K:%V|"},
		{"a\n", "--header x=1 --header y=2=3", "x=1,y=2=3:a", "%h:%v"},
		{"abcdefg", "--record-bytes 3", "abc|def|g|", "%v|"},
		{"abcdef", "--record-bytes 3", "abc|def|", "%v|"},
		{"a\n", "--acks 0", "a", "%v"},
		{"a\n", "--acks 1", "a", "%v"},
	} {
		topic := fmt.Sprintf("cut-%d", i)
		b.do("topic create " + topic)
		b.give(c.in, "produce "+topic+" "+c.flags)
		want := strings.Count(c.out, "|")
		flags := "--exit-at-end"
		if strings.Contains(c.flags, "acks 0") { // nobody said that it is there: wait for it
			flags = "--count 1"
		}
		if got := b.do("consume "+topic+" "+flags, "--format", c.format); got != c.out {
			t.Errorf("%q %s: %q, want %q (%d records)", c.in, c.flags, got, c.out, want)
		}
	}
}
