package fs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// newQueue returns a queue of the twin.
func newQueue(t *testing.T, c *Crash) Queue {
	t.Helper()
	q, err := c.NewQueue(8)
	must(t, err)
	return q
}

func TestQueuedWritesCompleteInRandomOrder(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(200) {
		c, dir := newDisk(t, seed)
		q, f := newQueue(t, c), create(t, c, dir+"/a")
		for i := range 3 {
			q.Push(f, fill('a', BlockSize), int64(i)*BlockSize, true, uint64(i))
		}
		order := ""
		for _, done := range waitFor(t, q, 3) {
			must(t, done.Err)
			order += fmt.Sprint(done.Tag)
		}
		orders[order] = true
		must(t, q.Close())
	}
	if len(orders) != 6 {
		t.Errorf("orders of three writes: %v", orders)
	}
}

func TestAWriteInFlightIsThereOrNotOrTorn(t *testing.T) {
	c, dir := newDisk(t, 1)
	f := settledFile(t, c, dir+"/a", fill('a', 2*sector))
	q := newQueue(t, c)
	q.Push(f, fill('b', 2*sector), 0, true, 1)
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	same(t, "not executed", content(t, c, dir+"/a"), fill('a', 2*sector))
	sometimes(t, c, whole, "a2 ", "b2 ", "a1 b1 ", "b1 a1 ")
	waitFor(t, q, 1)
	sometimes(t, c, whole, "b2 ")
	must(t, q.Close())
}

func TestAPushedSyncCoversOnlyWhatHadCompleted(t *testing.T) {
	c, dir := newDisk(t, 2)
	f := settledFile(t, c, dir+"/a", fill('0', 2*sector))
	q := newQueue(t, c)
	must(t, f.Write(fill('a', sector), 0, false))
	q.PushSync(f, 1)
	must(t, f.Write(fill('b', sector), sector, false))
	waitFor(t, q, 1)
	whole := func(cut *Crash) string { return summary(content(t, cut, dir+"/a")) }
	sometimes(t, c, whole, "a1 01 ", "a1 b1 ")
	q.PushSync(f, 2)
	waitFor(t, q, 1)
	sometimes(t, c, whole, "a1 b1 ")
	must(t, q.Close())
}

func TestBrokenRulesAreRecorded(t *testing.T) {
	for _, test := range []struct {
		name, want string
		broken     func(t *testing.T, q Queue, f File)
	}{
		{"two writes of one block", "pushed while", func(t *testing.T, q Queue, f File) {
			q.Push(f, fill('a', 100), BlockSize, true, 1)
			q.Push(f, fill('b', BlockSize+1), 0, true, 2)
		}},
		{"a plain write below", "while a write of 4096 bytes", func(t *testing.T, q Queue, f File) {
			q.Push(f, fill('a', BlockSize), 0, true, 1)
			must(t, f.Write([]byte("x"), 4095, false))
		}},
		{"a buffer used again", "changed in flight", func(t *testing.T, q Queue, f File) {
			p := fill('a', BlockSize)
			q.Push(f, p, 0, true, 1)
			p[17] = 'b'
		}},
		{"a truncate below", "truncate", func(t *testing.T, q Queue, f File) {
			q.Push(f, fill('a', BlockSize), 0, true, 1)
			must(t, f.Truncate(0))
		}},
		{"a close below", "close", func(t *testing.T, q Queue, f File) {
			q.PushSync(f, 1)
			must(t, f.Close())
		}},
		{"nothing", "", func(t *testing.T, q Queue, f File) {
			q.Push(f, fill('a', BlockSize), 0, true, 1)
			q.Push(f, fill('a', 100), BlockSize, true, 2)
			q.PushSync(f, 3)
			must(t, f.Write([]byte("x"), 2*BlockSize, false))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, dir := newDisk(t, 3)
			q, f := newQueue(t, c), create(t, c, dir+"/a")
			test.broken(t, q, f)
			if err := q.Close(); err != nil && test.want != "close" {
				t.Error(err)
			}
			broken := c.Violations()
			if (len(broken) > 0) != (test.want != "") || len(broken) > 0 && !strings.Contains(broken[0].Error(), test.want) {
				t.Errorf("violations %v, want %q", broken, test.want)
			}
		})
	}
}

func TestAQueueOfTheTwinIsWokenAndFull(t *testing.T) {
	c, dir := newDisk(t, 4)
	q, f := newQueue(t, c), create(t, c, dir+"/a")
	go q.Wake()
	if done, err := q.Wait(nil); err != nil || len(done) > 0 {
		t.Errorf("%v, %v", done, err)
	}
	n := 0
	for q.Push(f, []byte("x"), int64(n)*BlockSize, false, 0) {
		n++
	}
	if n != 8 {
		t.Errorf("depth 8 took %d", n)
	}
	must(t, q.Close())
}

// One seed and one order of calls give one disk, clones and completions included.
func TestARunIsRepeatedFromItsSeed(t *testing.T) {
	run := func() (trace []string) {
		c, dir := newDisk(t, 42)
		q := newQueue(t, c)
		var files []File
		for i := range 5 {
			files = append(files, create(t, c, fmt.Sprintf("%s/%d", dir, i)))
		}
		for round := range 20 {
			for i, f := range files {
				q.Push(f, fill(byte('a'+round), BlockSize), int64(round%3)*BlockSize, i == 0, uint64(i))
			}
			for _, done := range waitFor(t, q, len(files)) {
				trace = append(trace, fmt.Sprint(done.Tag))
			}
			cut := c.Clone(Random).Clone(Random)
			for _, name := range names(t, cut, dir) {
				trace = append(trace, name+" "+summary(content(t, cut, dir+"/"+name)))
			}
		}
		return trace
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("two runs:\n%q\n%q", a, b)
	}
}

func TestACloneAndItsDiskGoOnApart(t *testing.T) {
	c, dir := newDisk(t, 5)
	f := settledFile(t, c, dir+"/a", []byte("both"))
	cut := c.Clone(DropUnflushed)
	must(t, f.Write([]byte("disk"), 0, true))
	must(t, create(t, c, dir+"/b").Datasync())
	g, err := cut.Open(dir+"/a", 2)
	must(t, err)
	must(t, g.Write([]byte("clon"), 0, true))
	same(t, "disk", content(t, c, dir+"/a"), []byte("disk"))
	same(t, "clone", content(t, cut, dir+"/a"), []byte("clon"))
	if got := names(t, cut, dir); len(got) != 1 {
		t.Errorf("clone has %v", got)
	}
}

func TestADiskIsSafeForConcurrentUse(t *testing.T) {
	c, dir := newDisk(t, 6)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			name := fmt.Sprintf("%s/%d", dir, i)
			f := create(t, c, name)
			q, err := c.NewQueue(4)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range int64(50) {
				q.Push(f, fill('a', BlockSize), n*BlockSize, n%2 == 0, 0)
				q.Wait(nil)
				f.ReadAt(make([]byte, BlockSize), n*BlockSize)
				f.Datasync()
				c.SyncDir(dir)
				c.ReadDir(dir)
			}
			q.Close()
			if err := c.Rename(name, name+".done"); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		c.Clone(Random).Clone(KeepAll)
		c.Counts()
	}
	group.Wait()
	if v := c.Violations(); len(v) > 0 {
		t.Error(v)
	}
	if got := names(t, c.Clone(KeepAll), dir); len(got) != 4 {
		t.Errorf("left %v", got)
	}
}
