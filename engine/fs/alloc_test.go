package fs

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestTheHotPathDoesNotAllocate(t *testing.T) {
	f := create(t, OS(), filepath.Join(t.TempDir(), "a"))
	p := make([]byte, BlockSize)
	for name, call := range map[string]func(){
		"write":         func() { must(t, f.Write(p, 0, false)) },
		"durable write": func() { must(t, f.Write(p, 0, true)) },
		"read":          func() { f.ReadAt(p, 0) },
	} {
		if n := testing.AllocsPerRun(20, call); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	q, err := OS().NewQueue(4)
	if err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done := make([]Completion, 0, 4)
	if n := testing.AllocsPerRun(20, func() {
		q.Push(f, p, 0, true, 1)
		done, err = q.Wait(done[:0])
		must(t, err)
	}); n > 0 {
		t.Errorf("queue: %v allocations", n)
	}
	must(t, q.Close())
}
