package api

import (
	"testing"

	"github.com/zurau/zurau/server/partition"
)

// A reader may hold a request's lock as long as a disk takes. A writer that wakes the request must not wait for that, nor
// may what it woke it for be forgotten.
func TestAWakeDoesNotWaitForALook(t *testing.T) {
	f := &fetchRequest{}
	f.mu.Lock()
	f.Wake(new(partition.Partition)) // hangs where it waits
	f.gone()
	if !f.woken.Load() {
		t.Error("a wake during a look is forgotten")
	}
	f.asked = true // by then a reader is about to look: nothing else does
	f.lost.Store(false)
	f.mu.Unlock()
	f.turn(func() bool { return false })
	if f.woken.Load() {
		t.Error("who had the lock did not look at what it was woken for")
	}
}

func TestARequestThatWasAnsweredDoesNotWaitAgain(t *testing.T) {
	f := &fetchRequest{}
	f.mu.Lock()
	f.leave()
	f.mu.Unlock()
	f.Wake(new(partition.Partition))
	f.gone()
	f.turn(func() bool { t.Error("a request that was answered goes on"); return false })
}
