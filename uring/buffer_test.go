package uring

import (
	"errors"
	"os"
	"testing"
	"unsafe"
)

func TestABufferIsAlignedZeroedAndAsLongAsAskedFor(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 1 << 20} {
		b, err := Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		p := b.Bytes()
		if len(p) != n || cap(p) != n {
			t.Errorf("%d bytes: len %d cap %d", n, len(p), cap(p))
		}
		if a := uintptr(unsafe.Pointer(&p[0])); a%uintptr(os.Getpagesize()) != 0 {
			t.Errorf("%d bytes at %#x", n, a)
		}
		for i := range p {
			if p[i] != 0 {
				t.Fatalf("byte %d is %d", i, p[i])
			}
			p[i] = 1
		}
		b.Free()
	}
	for _, n := range []int{0, -1} {
		if _, err := Alloc(n); err == nil {
			t.Errorf("%d bytes were allocated", n)
		}
	}
}

func TestAFreedBufferIsNoLongerUsed(t *testing.T) {
	b, err := Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	b.Free()
	panics(t, b.Free)
	panics(t, func() { b.Bytes() })
}

func TestAPoolKeepsItsLimit(t *testing.T) {
	p := NewPool(4096, 2)
	a, err1 := p.Get()
	b, err2 := p.Get()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(); !errors.Is(err, ErrPoolEmpty) || p.Out() != 2 {
		t.Errorf("third buffer: %v, %d out", err, p.Out())
	}
	p.Put(a)
	if c, err := p.Get(); c != a || err != nil {
		t.Errorf("got %p, put %p: %v", c, a, err)
	}
	p.Put(b)
	panics(t, func() { p.Put(b) })
	foreign, err := Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	panics(t, func() { p.Put(foreign) })
	foreign.Free()

	p.Close()
	panics(t, func() { b.Bytes() }) // idle at Close
	p.Put(a)
	panics(t, func() { a.Bytes() }) // put back after Close
	if _, err := p.Get(); !errors.Is(err, ErrClosed) || p.Out() != 0 {
		t.Errorf("buffer of a closed pool: %v, %d out", err, p.Out())
	}
}
