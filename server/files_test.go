package server

import (
	"math"
	"testing"
)

func TestConnectionsLeaveHalfOfTheDescriptorsToTheLogs(t *testing.T) {
	for _, c := range []struct {
		configured int32
		files      uint64
		want       int
	}{
		{math.MaxInt32, 1024, 512},
		{math.MaxInt32, math.MaxUint64, 0},
		{math.MaxInt32, 1, 1},
		{100, 1024, 100},
		{0, 1024, 1},
		{1000, 1024, 512},
		{1000, math.MaxUint64, 1000},
	} {
		if got := connectionsWithin(c.configured, c.files); got != c.want {
			t.Errorf("max.connections=%d with %d descriptors: %d, want %d", c.configured, c.files, got, c.want)
		}
	}
}
