package load

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOpenLoopCountsTheWaitingOfThoseWhoCouldNotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A request each ms, of no duration, but for one that stalls for a second.
		m := NewMeter()
		n := 0
		s := Stream{Every: time.Millisecond, Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) {
			if n++; n == 1000 {
				<-time.After(time.Second)
			}
			return 100, nil
		}}
		if _, err := Run(t.Context(), Timing{Warm: 100 * time.Millisecond, For: 4 * time.Second}, []Stream{s}, nil); err != nil {
			t.Fatal(err)
		}
		r := m.Result()
		// A quarter of the requests were due in the stall, and waited half of it in the mean.
		if p := time.Duration(r.Latency.ValueAtPercentile(87.5)); p < 400*time.Millisecond || p > 600*time.Millisecond {
			t.Errorf("the 87.5th percentile is %v", p)
		}
		if p := time.Duration(r.Latency.ValueAtPercentile(50)); p > 2*time.Microsecond {
			t.Errorf("the median is %v", p)
		}
		if r.Latency.TotalCount() < 3900 || r.Ops < 3900 {
			t.Errorf("%d requests, %d latencies", r.Ops, r.Latency.TotalCount())
		}
	})
}

func TestRequestsThatCouldNotBeSentBeforeTheEndCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A hundred requests a second of 20 ms each, of one stream: half of them are never sent.
		m := NewMeter()
		s := Stream{Every: 10 * time.Millisecond, Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) {
			<-time.After(20 * time.Millisecond)
			return 1, nil
		}}
		if _, err := Run(t.Context(), Timing{Warm: 20 * time.Millisecond, For: 10 * time.Second}, []Stream{s}, nil); err != nil {
			t.Fatal(err)
		}
		r := m.Result()
		if r.Unsent < 480 || r.Unsent > 520 || r.Latency.TotalCount() < 990 {
			t.Errorf("%d unsent, %d latencies", r.Unsent, r.Latency.TotalCount())
		}
		// The latest that was sent was due halfway, and sent at the end.
		if worst := time.Duration(r.Latency.Max()); worst < 4800*time.Millisecond || worst > 5300*time.Millisecond {
			t.Errorf("the longest latency is %v", worst)
		}
	})
}

func TestAClosedLoopMeasuresWhatEndsInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter()
		var streams []Stream
		for range 4 {
			streams = append(streams, Stream{Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) {
				<-time.After(10 * time.Millisecond)
				return 1000, nil
			}})
		}
		var marks []bool
		warm, err := Run(t.Context(), Timing{MaxWarm: 5 * time.Second, For: time.Second, Measured: func(b bool) { marks = append(marks, b) }}, streams, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := m.Result()
		if math.Abs(float64(r.Ops)-400) > 8 || r.Bytes != 1000*r.Ops || math.Abs(r.Drift) > 0.1 {
			t.Errorf("%d requests, %d bytes, drift %v", r.Ops, r.Bytes, r.Drift)
		}
		// The rate is the same in all windows of an eighth of a second: three are enough.
		if warm < 300*time.Millisecond || warm > 600*time.Millisecond {
			t.Errorf("warm-up of %v", warm)
		}
		if len(marks) != 2 || !marks[0] || marks[1] {
			t.Errorf("marks %v", marks)
		}
	})
}

func TestAWarmUpEndsAtItsLimitWhereTheRateIsNeverSteady(t *testing.T) {
	w := &warmUp{timing: Timing{MaxWarm: 2 * time.Second}, window: 100 * time.Millisecond}
	ops := int64(0)
	for at := time.Duration(0); ; at += 100 * time.Millisecond {
		ops = ops*3/2 + 10
		if w.over(at, ops) {
			if at != 2*time.Second {
				t.Errorf("over at %v", at)
			}
			return
		}
	}
}

func TestARunWithoutATimeEndsWithItsBudgetAndMeasuresAllOfIt(t *testing.T) {
	m, b := NewMeter(), NewBudget(1000)
	s := Stream{Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) { return 10, b.Take(10) }}
	if _, err := Run(context.Background(), Timing{}, []Stream{s, s, s}, nil); err != nil {
		t.Fatal(err)
	}
	if r := m.Result(); r.Ops != 100 || r.Bytes != 1000 || r.Secs <= 0 || r.Secs > 60 {
		t.Errorf("%+v", r)
	}
}

func TestTheFirstFailureEndsTheRunAndIsReturned(t *testing.T) {
	m, broken := NewMeter(), errors.New("broken")
	var n atomic.Int64
	s := Stream{Meter: m, Do: func(<-chan struct{}, time.Time) (int64, error) {
		if n.Add(1) == 50 {
			return 0, broken
		}
		return 1, nil
	}}
	if _, err := Run(context.Background(), Timing{Warm: time.Hour, For: time.Hour}, []Stream{s, s}, nil); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}

func TestAnInterruptEndsARunAndSaysWhy(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := Stream{Meter: NewMeter(), Do: func(<-chan struct{}, time.Time) (int64, error) {
		cancel(why)
		return 1, nil
	}}
	if _, err := Run(ctx, Timing{Warm: time.Hour, For: time.Hour}, []Stream{s}, nil); !errors.Is(err, why) {
		t.Fatal(err)
	}
}

func TestWithoutALatencyThereAreNoPercentiles(t *testing.T) {
	m := NewMeter()
	now := time.Now()
	m.Begin(time.Hour)
	m.Done(0, now.Add(-time.Minute), now, time.Now(), 10) // due before, done within
	v := m.Result().Values()
	if _, ok := v["lat_p99_ms"]; ok || v["ops"] != 1 {
		t.Errorf("%v", v)
	}
}

func TestDriftIsTheRiseByTheMean(t *testing.T) {
	for _, c := range []struct {
		ys   []float64
		want float64
	}{{[]float64{5, 5, 5, 5}, 0}, {[]float64{9, 10, 11}, 0.2}, {[]float64{3, 2, 1}, -1}, {[]float64{0, 0}, 0}} {
		if got := drift(c.ys); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.ys, got, c.want)
		}
	}
}

func TestAHistogramComesBackFromItsText(t *testing.T) {
	m := NewMeter()
	m.Begin(time.Hour)
	for i := range 1000 {
		now := time.Now()
		m.Done(i, now, now, now.Add(time.Duration(i)*time.Millisecond), 1)
	}
	r := m.Result()
	s, err := Encoded(r.Latency)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Decoded(s)
	if err != nil || h.TotalCount() != 1000 || h.ValueAtPercentile(99) != r.Latency.ValueAtPercentile(99) {
		t.Fatalf("%v, %v", h, err)
	}
	if _, err := Decoded("no histogram"); err == nil {
		t.Error("no error")
	}
}
