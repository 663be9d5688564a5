package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The model test draws steps from a seed and does them to an engine on a disk in memory and to lists of batches, which must
// agree after each. When they do not, it looks for the shortest list of steps that still goes wrong, and prints that as text.
// ZURAU_MODEL names a file with such a text, to do it again; ZURAU_MODEL_SEED does the steps of a seed again.

// TestAnEngineIsWhatListsSayWhateverHappensToIt is the model test. The long form takes a million steps.
func TestAnEngineIsWhatListsSayWhateverHappensToIt(t *testing.T) {
	// The short form takes the same steps each time, so that it fails for what has changed; the long one looks for what is not known.
	runs, steps, seed := 40, 500, uint64(17)
	if long() {
		runs, steps, seed = 500, 2000, rand.Uint64()
	}
	if s := os.Getenv("ZURAU_MODEL_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		must(t, err)
	}
	fmt.Println("ZURAU_MODEL_SEED =", seed) // seen where a panic ends it all
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range runs {
		w := drawWorld(rng, i)
		modelSearch(t, w, modelSteps(rng, steps))
		if t.Failed() {
			return
		}
		if done := (i + 1) * steps; done%100_000 == 0 {
			t.Logf("%d steps", done)
		}
	}
}

func drawWorld(rng *rand.Rand, i int) modelWorld {
	return modelWorld{way: i % len(ways), plain: rng.IntN(3) == 0, staged: rng.IntN(2) == 0,
		descriptors: []int{2, 8, 100}[rng.IntN(3)], seed: rng.Uint64N(1 << 32)}
}

// TestTheModelGoesThroughWhatOnceWentWrong does the lists of steps again that found something.
func TestTheModelGoesThroughWhatOnceWentWrong(t *testing.T) {
	files, err := filepath.Glob("testdata/model/*.txt")
	must(t, err)
	if name := os.Getenv("ZURAU_MODEL"); name != "" {
		files = []string{name}
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			must(t, err)
			w, steps, err := parseModel(string(text))
			must(t, err)
			if len(files) == 1 {
				w.trace = func(m *modelRun, i int, s modelStep, err error) { t.Log(m.state(i, s), err) }
			}
			for range 3 { // a writer may be faster or slower
				if _, err := w.watched(t, steps); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// modelSearch runs steps and, where they go wrong, the fewest of them that do.
func modelSearch(t *testing.T, w modelWorld, steps []modelStep) {
	t.Helper()
	failed, err := w.watched(t, steps)
	if err == nil {
		return
	}
	steps = steps[:min(failed+1, len(steps))]
	t.Errorf("%d steps: %v", len(steps), err)
	budget := time.Minute
	if long() {
		budget = 10 * time.Minute
	}
	kind, tries := kindOf(err), 1
	wrong := func(s []modelStep) bool {
		for range tries {
			if _, err := w.watched(t, s); err != nil && kindOf(err) == kind {
				return true
			}
		}
		return false
	}
	for range 2 {
		if !wrong(steps) {
			tries = 5 // a writer may be faster or slower
		}
	}
	short := shortest(steps, time.Now().Add(budget), wrong)
	_, err = w.watched(t, short)
	t.Errorf("%d steps are enough: %v\nto do them again, put this into a file and set ZURAU_MODEL to its name:\n%s", len(short), err, modelText(w, short))
}

// watched is run, which must come to an end.
func (w modelWorld) watched(t *testing.T, steps []modelStep) (failed int, err error) {
	t.Helper()
	timer := time.AfterFunc(2*time.Minute, func() {
		panic(fmt.Sprintf("these steps have not come to an end:\n%s", modelText(w, steps)))
	})
	defer timer.Stop()
	return w.run(steps)
}

// kindOf is an error without its numbers, so that what is found with fewer steps is what was looked for.
func kindOf(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	text := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, err.Error())
	return text[:min(len(text), 20)]
}
