package powerloss

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

func TestMain(m *testing.M) {
	os.Exit(rig.Main(m, map[string]func() error{engineRole: engineMain, brokerRole: brokerMain}))
}

// rounds is how often each machine loses its power, of which there are four: 100 losses in the long form.
func rounds() int {
	if broker.Long() {
		return 25
	}
	return 3
}

// newSeed is what a test's choices follow from: ZURAU_SEED, or the time.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("ZURAU_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal("ZURAU_SEED", err)
		}
	}
	t.Logf("ZURAU_SEED=%d", seed)
	return seed
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
