package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A file size limit fails writes as a bad disk does: with an error that is final for the directory.
func TestABrokerWhoseDirectoryFailsEndsAndAStartRecovers(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create t --config flush.messages=1")
	b.give("acknowledged\n", "produce t")
	must(t, unix.Prlimit(b.Pid(), unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil))
	b.fails(exitFailed, "lost\n", "produce t --delivery-timeout 2s")

	if code := b.Wait(); code != exitFailed {
		t.Fatalf("the broker ended with exit status %d", code)
	}
	has(t, b.Log(), "level=ERROR", "the log directory has failed", "file too large", "dmesg", "zurau: log directory "+b.dir)

	b = serve(t, b.dir)
	if got := b.do("consume t --exit-at-end"); got != "acknowledged\n" {
		t.Errorf("after the start there is %q", got)
	}
	b.stop()
}
