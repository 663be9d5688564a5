package load

import (
	"testing"
	"time"
)

// FuzzDecoded holds that a histogram in a results file is read or refused.
func FuzzDecoded(f *testing.F) {
	m := NewMeter()
	m.Begin(time.Hour)
	for i := range 100 {
		now := time.Now()
		m.Done(i, now, now, now.Add(time.Duration(i)*time.Millisecond), 1)
	}
	s, err := Encoded(m.Result().Latency)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s)
	f.Add("")
	f.Add("HISTFAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := Decoded(s)
		if err == nil && (h.TotalCount() < 0 || h.ValueAtPercentile(99) < 0) {
			t.Fatalf("%d values", h.TotalCount())
		}
	})
}
