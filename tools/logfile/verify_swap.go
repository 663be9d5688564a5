package logfile

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine"
)

// swapSuffix ends the names of files that are about to take others' place: see package engine.
const swapSuffix = ".swap"

// swap reads the log as it is once the next start has put .swap files in place of others: it takes what is replaced out
// of the files, and notes what is read under another name.
func (p *partition) swap(files []string) (left []string, err error) {
	cleaned := int64(math.MaxInt64)
	for _, name := range files {
		if _, base := KindOf(name); strings.HasSuffix(name, ".cleaned") {
			cleaned = min(cleaned, base)
		}
	}
	from, to := int64(math.MaxInt64), int64(-1)
	p.swapped = map[string]bool{}
	for _, name := range files {
		path := filepath.Join(p.dir, name)
		_, base := KindOf(name)
		switch {
		case !strings.HasSuffix(name, swapSuffix):
			left = append(left, name)
		case base >= cleaned:
			p.problem(engine.CleanedLeft, path, -1, "a .swap file beside a .cleaned one", "")
		case strings.HasSuffix(name, ".log"+swapSuffix):
			end, err := p.swapEnd(path, base)
			if err != nil {
				return nil, err
			}
			from, to = min(from, base), max(to, end)
			fallthrough
		default:
			p.swapped[strings.TrimSuffix(name, swapSuffix)] = true
		}
	}
	kept := left[:0]
	for _, name := range left {
		kind, base := KindOf(name)
		replaced := base >= from && base < to && kind != ProducerSnapshot && !isSide(name)
		if !replaced && !p.swapped[name] {
			kept = append(kept, name)
		}
	}
	for name := range p.swapped {
		kept = append(kept, name)
	}
	return kept, nil
}

// swapEnd checks a .swap file and returns the offset after its last record.
func (p *partition) swapEnd(path string, base int64) (int64, error) {
	f, size, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	p.Summary.Files++
	end := base
	bad := false
	err = Scan(f, size, base, func(s Span) error {
		if s.Err != nil {
			bad = true
			p.problem(engine.SwapDamaged, path, s.Position, s.Err.Error(), "a batch")
		} else {
			end = s.Batch.LastOffset() + 1
		}
		return nil
	})
	if !bad && err == nil {
		p.problem(engine.SwapLeft, path, -1, fmt.Sprintf("batches of offsets %d to %d", base, end-1), "")
	}
	return end, errors.Join(err)
}
