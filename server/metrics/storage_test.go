package metrics

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/producer"
)

func TestARefusalIsCountedByItsReason(t *testing.T) {
	var s Storage
	hooks := s.Hooks()
	for i, why := range []error{engine.ErrNoSpace, engine.ErrBusy, fmt.Errorf("%w: %w", engine.ErrOffline, errors.New("cause")), engine.ErrTooLargeForSegment,
		engine.ErrDeleted, engine.ErrClosed, producer.ErrOutOfOrderSequence} {
		for range i + 1 {
			hooks.Refuse(fmt.Errorf("append: %w", why))
		}
	}
	for i := range s.refused {
		if n := s.refused[i].Load(); n != int64(i+1) {
			t.Errorf("reason number %d: %d refusals, want %d", i, n, i+1)
		}
	}
}
