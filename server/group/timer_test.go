package group

import (
	"slices"
	"testing"
	"time"
)

func TestTimersFireInOrderOnOneWakeOfTheClock(t *testing.T) {
	clock := &fakeClock{}
	ts := timers{clock: clock}
	var fired []int64
	all := make([]timer, 6)
	for i := range all {
		all[i].fire = func() { fired = append(fired, int64(i)) }
	}
	for i, at := range []int64{50, 10, 40, 20, 30, 60} {
		ts.notLater(&all[i], at)
	}
	ts.notLater(&all[1], 70)    // already earlier
	ts.notLater(&all[5], 5)     // earlier than it was
	ts.notLater(&all[0], never) // stays
	ts.set(&all[4], never)      // taken out
	ts.set(&all[3], 45)         // moved away
	if len(clock.wakes) != 1 {
		t.Errorf("the clock has %d wakes, want 1", len(clock.wakes))
	}
	clock.advance(100)
	if want := []int64{5, 1, 2, 3, 0}; !slices.Equal(fired, want) {
		t.Errorf("fired %v, want %v", fired, want)
	}
	ts.set(&all[0], 200)
	ts.close()
	ts.set(&all[1], 200)
	clock.advance(1000)
	if len(fired) != 5 || len(clock.wakes) != 0 {
		t.Errorf("fired %v after close, %d wakes", fired[5:], len(clock.wakes))
	}
}

func TestHeartbeatsDoNotMoveTheTimer(t *testing.T) {
	m := newMachine()
	m.g.members["a"] = &member{id: "a", sessionTimeoutMs: 10_000}
	m.g.beat(m.now, m.g.members["a"])
	before := m.g.Deadline()
	for m.now.Mono < 9000 {
		m.now.Mono += 3000
		m.g.beat(m.now, m.g.members["a"])
	}
	if m.g.Deadline() != before {
		t.Errorf("deadline %d, was %d", m.g.Deadline(), before)
	}
	m.now.Mono = before
	m.g.Tick(m.now)
	if m.g.members["a"] == nil || m.g.Deadline() != 19_000 {
		t.Errorf("after a look at %d: members %v, next look at %d", before, m.g.members, m.g.Deadline())
	}
}

func TestMachineClockWakesAndStops(t *testing.T) {
	clock := machineClock{time.Now()}
	woken := make(chan int64)
	clock.Wake(clock.Now().Mono+5, func() { woken <- clock.Now().Mono })
	stop := clock.Wake(clock.Now().Mono+3_600_000, func() { t.Error("woken an hour early") })
	stop()
	if at := <-woken; at < 5 {
		t.Errorf("woken at %d ms, want 5 or later", at)
	}
}
