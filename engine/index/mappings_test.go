package index

import (
	"sync"
	"testing"

	"github.com/zurau/zurau/engine/fs"
)

func TestMappingsAreBounded(t *testing.T) {
	disk := fs.NewCrash(1)
	bound := NewMappings(3)
	var all []*Offset
	for i := range 10 {
		x := offsets(t, disk, string(rune('a'+i)), 0)
		x.Bound(bound)
		for j := range int64(1000) { // larger than what is read instead of mapped
			must(t, x.Append(j+1, int32(j+1)))
		}
		must(t, x.Seal())
		all = append(all, x)
	}
	for range 3 {
		for _, x := range all {
			if offset, _, err := x.Lookup(500); offset != 500 || err != nil {
				t.Fatalf("found %d, %v", offset, err)
			}
			views := 0
			for _, y := range all {
				if y.view != nil {
					views++
				}
			}
			if views > 3 || bound.Len() != views {
				t.Fatalf("%d indexes are mapped, %d counted, 3 allowed", views, bound.Len())
			}
		}
	}
	for _, x := range all {
		must(t, x.Close())
	}
	if bound.Len() != 0 {
		t.Errorf("%d of the closed indexes count as mapped", bound.Len())
	}
}

func TestLookupsRunBesideAppendsSealsAndEvictions(t *testing.T) {
	disk := fs.NewCrash(1)
	bound := NewMappings(1)
	x, y := offsets(t, disk, "x", 0), offsets(t, disk, "y", 0)
	x.Bound(bound)
	y.Bound(bound)
	must(t, y.Append(1, 1))
	must(t, y.Seal())
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				want, _, _ := x.Last()
				offset, position, err := x.Lookup(1 << 40)
				if err != nil || offset < want || int64(position) != offset {
					t.Errorf("found %d at %d, %v; an earlier last was %d", offset, position, err, want)
					return
				}
				if offset, _, err := y.Lookup(1); offset != 1 || err != nil {
					t.Errorf("other index: %d, %v", offset, err)
					return
				}
			}
		})
	}
	readers.Go(func() { // the checkpointer
		for {
			select {
			case <-stop:
				return
			default:
				if err := x.Flush(true); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range int64(2000) {
		must(t, x.Append(i+1, int32(i+1)))
		if i%50 == 0 {
			must(t, x.Seal())
		}
	}
	close(stop)
	readers.Wait()
}

// Whoever must not wait for a disk looks into what is in memory: not into a mapping, whose pages may have to be read, and not behind
// somebody who opens the file.
func TestALookupThatDoesNotWaitLeavesTheFileAlone(t *testing.T) {
	disk := fs.NewCrash(1)
	large, small := offsets(t, disk, "large", 0), offsets(t, disk, "small", 0)
	for i := range int64(1000) {
		must(t, large.Append(i+1, int32(i+1)))
	}
	must(t, small.Append(500, 500))
	both := map[*Offset]string{large: "large", small: "small"}
	for x, name := range both {
		if offset, _, err := x.LookupNoWait(500); offset != 500 || err != nil {
			t.Errorf("%s, active: found %d, %v", name, offset, err)
		}
		must(t, x.Seal())
	}
	opens := disk.Counts().Opens
	for x, name := range both {
		if _, _, err := x.LookupNoWait(500); err != fs.ErrWouldBlock {
			t.Errorf("%s, at rest: %v", name, err)
		}
		if _, _, err := x.BehindNoWait(500); err != fs.ErrWouldBlock {
			t.Errorf("%s, at rest: %v", name, err)
		}
	}
	if n := disk.Counts().Opens; n != opens {
		t.Errorf("%d files were opened", n-opens)
	}
	for x := range both {
		if offset, _, err := x.Lookup(500); offset != 500 || err != nil {
			t.Errorf("found %d, %v", offset, err)
		}
	}
	if offset, _, err := small.LookupNoWait(500); offset != 500 || err != nil {
		t.Errorf("small, read: found %d, %v", offset, err)
	}
	if _, _, err := large.LookupNoWait(500); err != fs.ErrWouldBlock || large.view.mapping == nil {
		t.Errorf("large, mapped: %v", err)
	}
	small.mu.Lock()
	defer small.mu.Unlock()
	if _, _, err := small.LookupNoWait(500); err != fs.ErrWouldBlock {
		t.Errorf("while somebody is at it: %v", err)
	}
}
