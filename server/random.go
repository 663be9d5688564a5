package server

import "crypto/rand"

// random is crypto/rand as an io.Reader.
type random struct{}

func (random) Read(p []byte) (int, error) { return rand.Read(p) }
