package api_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/zurau/zurau/tests/raw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, raw.Leaks()...) }
