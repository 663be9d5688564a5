package load

import (
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/zurau/zurau/benchmarks/results"
)

// quantiles are those that a result has, by their names.
var quantiles = []struct {
	name string
	at   float64
}{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p999", 99.9}, {"p9999", 99.99}, {"max", 100}}

// Values are a result's numbers, as they go into a line.
func (r *Result) Values() results.Values {
	v := results.Values{
		"MB_s": float64(r.Bytes) / 1e6 / r.Secs, "ops_s": float64(r.Ops) / r.Secs, "ops": float64(r.Ops),
		"drift": r.Drift, "warm_up_s": r.WarmUp.Seconds(),
	}
	for _, q := range quantiles {
		if r.Latency.TotalCount() == 0 {
			break // nothing that was due in the measured time was sent in it
		}
		v["lat_"+q.name+"_ms"] = ms(r.Latency.ValueAtPercentile(q.at))
	}
	if r.Unsent > 0 {
		v["unsent"] = float64(r.Unsent)
	}
	v["late_p99_ms"] = ms(r.Late.ValueAtPercentile(99))
	return v
}

func ms(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// Encoded is a histogram as a results file keeps it.
func Encoded(h *hdr.Histogram) (string, error) {
	b, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("histogram: %w", err)
	}
	return string(b), nil
}

// Decoded reads a histogram of a results file.
func Decoded(s string) (*hdr.Histogram, error) {
	h, err := hdr.Decode([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	return h, nil
}
