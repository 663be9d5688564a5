package powerloss

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/tests/broker"
)

// verify has zurau log verify look at a directory. Whatever a loss of power left is a row of the recovery table that the next start
// deals with alone: nothing that only damage explains.
func verify(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command(broker.Binary(t), "log", "verify", "--records", "--json", dir)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || stderr.Len() > 0 {
		t.Fatalf("zurau log verify: %v\n%s", err, stderr.String())
	}
	states := map[engine.State]int{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var found struct {
			Type            string
			State           engine.State
			File            string
			Found, Expected string
		}
		must(t, d.Decode(&found))
		if states[found.State]++; found.Type == "problem" && found.State.Row().Harm == engine.Damage {
			t.Errorf("%s: %s: found %s, expected %s", found.File, found.State, found.Found, found.Expected)
		}
	}
	t.Logf("rows: %v", states)
}
