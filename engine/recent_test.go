package engine

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

// A reader at the end of a direct log is served from memory, and gets the bytes that the file has.
func TestTheEndOfADirectLogIsReadFromMemoryAndIsWhatTheFileHas(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{FlushMessages: 1, Writer: WriterDirect})
	if err != nil {
		t.Fatal(err)
	}
	next, fromMemory := int64(0), 0
	for i := range 200 {
		appendWait(t, l, prepared(t, 3, fmt.Sprint("value ", i)))
		r, err := l.Read(next, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if r.Mem != nil {
			fromMemory++
			file := readFile(t, l, r.Position, r.Size)
			if !bytes.Equal(got, file) {
				t.Fatalf("append %d: memory and file differ", i)
			}
		}
		r.Release()
		next = l.HighWatermark()
	}
	if s := *l.view.Load(); !s[0].Direct() {
		t.Skip("this file system has no direct writes")
	}
	if fromMemory < 190 {
		t.Errorf("%d of 200 reads at the end came from memory", fromMemory)
	}
}

func readFile(t *testing.T, l *Log, at int64, n int) []byte {
	t.Helper()
	var f fs.File
	f, err := (*l.view.Load())[0].Acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer (*l.view.Load())[0].Release()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	return b
}

// What is kept for readers is bounded, and given back while nobody reads.
func TestMemoryKeptForReadersIsBounded(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, Config{FlushMessages: 1, Writer: WriterDirect})
	if err != nil {
		t.Fatal(err)
	}
	big := prepared(t, 1, string(make([]byte, 900<<10)))
	for range 60 {
		appendWait(t, l, big)
		r, err := l.Read(l.HighWatermark()-1, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	e.recent.mu.Lock()
	kept := e.recent.bytes
	e.recent.mu.Unlock()
	if kept > recentBytes {
		t.Errorf("%d bytes are kept, at most %d may be", kept, recentBytes)
	}
	e.recent.dropAll(e)
	if e.recent.bytes != 0 || len(l.tail.list) != 0 {
		t.Errorf("%d bytes and %d buffers are left", e.recent.bytes, len(l.tail.list))
	}
}
