package wire

import (
	"bytes"
	"testing"
)

// The header is read by hand. What is left of a frame behind it is the frame's end, and a client id is part of the frame.
func FuzzHeader(f *testing.F) {
	f.Add(frameHeader(3, 9, 1), true)
	f.Add(append(frameHeader(18, 3, 1)[:8], 0, 2, 'i', 'd', 2, 7, 1, 'x', 8, 0, 'b'), true)
	f.Add(append(frameHeader(0, 3, 1), "body"...), false)
	f.Fuzz(func(t *testing.T, frame []byte, flexible bool) {
		h, err := peek(frame)
		if err != nil {
			return
		}
		body, err := h.rest(frame, flexible, nil)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(frame, body) {
			t.Fatalf("the body %x is not the end of %x", body, frame)
		}
		if h.clientID != nil && !bytes.Contains(frame, []byte(*h.clientID)) {
			t.Fatalf("client id %q is not in %x", *h.clientID, frame)
		}
		again := h
		if _, err := again.rest(frame, flexible, h.clientID); err != nil || h.clientID != nil && again.clientID != h.clientID {
			t.Fatal("the same client id again is not the same")
		}
	})
}
