package kill

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zurau/zurau/engine/record"
)

// verifyFiles walks the segments of every partition of a topic, as they are after an orderly stop: whole batches with
// good checksums, each beginning where the one before ended, and nothing behind them.
func verifyFiles(t *testing.T, dir, topic string, want []int64) {
	t.Helper()
	for p := range want {
		folder := filepath.Join(dir, fmt.Sprintf("%s-%d", topic, p))
		segments, err := filepath.Glob(filepath.Join(folder, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(segments)
		next := int64(0)
		for _, name := range segments {
			if base := fmt.Sprintf("%020d.log", next); filepath.Base(name) != base {
				t.Errorf("%s follows a segment that ends at %d", name, next)
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if next, err = walk(b, next); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if next != want[p] {
			t.Errorf("the files of %s-%d end at offset %d, and the broker served up to %d", topic, p, next, want[p])
		}
	}
}

// walk checks the batches of a segment that begins at offset next, and returns where it ends.
func walk(b []byte, next int64) (int64, error) {
	for size := len(b); len(b) > 0; {
		batch, rest, err := record.Next(b)
		if err == nil {
			err = batch.Check()
		}
		if err == nil && batch.BaseOffset() != next {
			err = fmt.Errorf("base offset %d, want %d", batch.BaseOffset(), next)
		}
		if err != nil {
			return next, fmt.Errorf("position %d: %w", size-len(b), err)
		}
		next, b = batch.LastOffset()+1, rest
	}
	return next, nil
}

// batchAt returns a batch of one record at an offset.
func batchAt(offset int64) []byte {
	b := record.NewBuilder(record.None)
	b.BaseOffset = offset
	return b.Add(1, nil, []byte("value")).Bytes()
}

func TestTheWalkFindsWhatItIsFor(t *testing.T) {
	whole := batchAt(0)
	torn := whole[:len(whole)-1]
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, b := range map[string][]byte{
		"a torn batch":       torn,
		"a changed byte":     flipped,
		"zeros behind":       append(bytes.Clone(whole), 0),
		"a gap":              append(bytes.Clone(whole), batchAt(2)...),
		"the same once more": append(bytes.Clone(whole), whole...),
	} {
		if _, err := walk(b, 0); err == nil {
			t.Errorf("%s is not found", name)
		}
	}
	if next, err := walk(append(bytes.Clone(whole), batchAt(1)...), 0); err != nil || next != 2 {
		t.Errorf("two good batches: end %d, %v", next, err)
	}
}
