package engine

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// killed stops the engine as kill -9 does, lets damage happen, and opens it again.
func (b *bench) killed(damage func(disk *fs.Crash)) {
	b.t.Helper()
	left := b.disk.Clone(fs.KeepAll)
	b.e.Close()
	damage(left)
	b.disk = left
	b.open()
}

func TestDamagedIndexesAreMadeAgain(t *testing.T) { // A1, history 28
	end := int64(600)
	damages := map[string]func(t *testing.T, disk fs.FS, file string){
		"deleted": func(t *testing.T, disk fs.FS, file string) { overwrite(t, disk, file, nil) },
		"empty":   func(t *testing.T, disk fs.FS, file string) { overwrite(t, disk, file, []byte{}) },
		"cut in an entry": func(t *testing.T, disk fs.FS, file string) {
			b := read(t, disk, file)
			overwrite(t, disk, file, b[:max(0, len(b)-5)])
		},
		"cut to half an entry": func(t *testing.T, disk fs.FS, file string) { overwrite(t, disk, file, []byte{0, 0, 0, 0}) },
		"zeros": func(t *testing.T, disk fs.FS, file string) {
			overwrite(t, disk, file, make([]byte, len(read(t, disk, file))))
		},
		"ones": func(t *testing.T, disk fs.FS, file string) {
			overwrite(t, disk, file, bytes.Repeat([]byte{0xff}, len(read(t, disk, file))))
		},
		"longer": func(t *testing.T, disk fs.FS, file string) {
			overwrite(t, disk, file, append(read(t, disk, file), make([]byte, 4096)...))
		},
		"another segment's": func(t *testing.T, disk fs.FS, file string) {
			entries, err := disk.ReadDir(filepath.Dir(file))
			must(t, err)
			for _, e := range entries {
				if strings.HasSuffix(e.Name(), filepath.Ext(file)) && e.Name() != filepath.Base(file) {
					overwrite(t, disk, file, read(t, disk, filepath.Dir(file)+"/"+e.Name()))
					return
				}
			}
		},
	}
	for name, damage := range damages {
		for _, clean := range []bool{false, true} {
			b := newBench(t)
			c := small()
			c.SegmentBytes = 20_000
			l := b.create("t", c)
			b.fill(l, int(end))
			must(t, b.e.Checkpoint())
			b.fill(l, 30)
			hurt := func(disk fs.FS) {
				for _, file := range list(t, disk, l.Dir()) {
					if strings.HasSuffix(file, segment.IndexSuffix) || strings.HasSuffix(file, segment.TimeSuffix) {
						damage(t, disk, l.Dir()+"/"+file)
					}
				}
			}
			if clean {
				b.stop()
				hurt(b.disk)
				b.open()
			} else {
				b.killed(func(disk *fs.Crash) { hurt(disk) })
			}
			what := fmt.Sprintf("%s, clean %t", name, clean)
			wantAllFound(t, what, b, end+30)
			b.restart()
			wantAllFound(t, what+", started again", b, end+30)
			if s := b.e.Recovery().Scanned; s != 0 {
				t.Errorf("%s: %d bytes are scanned after an orderly stop", what, s)
			}
			b.stop()
		}
	}
}

// wantAllFound reads everything, and looks up some times and offsets.
func wantAllFound(t *testing.T, what string, b *bench, end int64) {
	t.Helper()
	l := b.log("t")
	b.whole(l, 0, end)
	for _, offset := range []int64{0, 1, 99, 100, 101, end / 2, end - 2, end - 1} {
		r, err := l.Read(offset, 1, true)
		if err != nil || r.Size == 0 {
			t.Errorf("%s: offset %d: %d bytes, %v", what, offset, r.Size, err)
			continue
		}
		r.Release()
		at, err := l.OffsetForTime(testNow + 1000*offset)
		wantTime(t, fmt.Sprintf("%s: time of offset %d", what, offset), at, err, offset, testNow+1000*offset)
	}
	at, err := l.MaxTimestamp()
	wantTime(t, what+": newest", at, err, end-1, testNow+1000*(end-1))
}

func TestAnIndexDamagedInItsMiddleIsNoticedByTheLookUp(t *testing.T) {
	b := newBench(t)
	c := small()
	c.SegmentBytes = 100_000
	l := b.create("t", c)
	b.fill(l, 600)
	b.stop()
	name := "/data/t-0/00000000000000000000.index"
	index := read(t, b.disk, name)
	for i := 80; i < len(index)-80; i++ {
		if i%8 == 3 {
			index[i] ^= 0x11
		}
	}
	overwrite(t, b.disk, name, index)
	b.open()
	wantAllFound(t, "bits flipped", b, 600)
	for offset := range int64(600) {
		r, err := b.log("t").Read(offset, 1, true)
		must(t, err)
		got, err := r.Bytes()
		must(t, err)
		r.Release()
		if !bytes.Contains(got, []byte(batchID(offset)+"/")) {
			t.Fatalf("offset %d has %q", offset, got)
		}
	}
}

func TestRecoveryReadsOnlyWhatLiesBeyondTheRecoveryPoint(t *testing.T) { // A2
	for _, h := range ways {
		for _, sync := range []bool{false, true} {
			b := newBench(t)
			c := crashConfig(h, sync)
			c.SegmentBytes = 100_000
			l := b.create("t", c)
			for range 3 {
				for i := range int32(1000) {
					b.add(l, batchOf(batchID(l.LogEndOffset()), 1, 100, testNow+1000*l.LogEndOffset()%3_000_000, 7, int32(l.LogEndOffset())))
					_ = i
				}
			}
			must(t, b.e.Checkpoint())
			before := l.Size()
			b.fill(l, 50)
			must(t, l.Flush())
			beyond := l.Size() - before
			b.crash(fs.DropUnflushed)
			l = b.log("t")
			if s := b.e.Recovery().Scanned; s != beyond {
				t.Errorf("%s: %d bytes were scanned, %d lie beyond the recovery point", h.name, s, beyond)
			}
			var total int64
			for _, s := range *l.view.Load() {
				total += b.disk.BytesRead(s.Path())
			}
			// For each segment the first header, the last index entry's and the last time entry's batch: 8 KiB reads.
			if limit := beyond + int64(l.Segments()+1)*5*8192; total > limit || total > l.Size()*4/5 {
				t.Errorf("%s: %d bytes of log files were read, at most %d of %d are needed", h.name, total, limit, l.Size())
			}
			if r := appendOne(l, batchOf("x", 1, 100, testNow, 7, 2999)); !r.Duplicate {
				t.Errorf("%s: the last batch of a producer, again: %+v", h.name, r)
			}
			b.stop()
		}
	}
}

func TestOneDamagedIndexCostsOneSegment(t *testing.T) { // A2
	b := newBench(t)
	c := small()
	c.SegmentBytes = 50_000
	l := b.create("t", c)
	b.fill(l, 2900)
	must(t, b.e.Checkpoint())
	size, segments := l.Size(), l.Segments()
	b.killed(func(disk *fs.Crash) {
		overwrite(t, disk, l.Dir()+"/00000000000000000000.index", []byte("damage"))
	})
	l = b.log("t")
	var total int64
	for _, s := range *l.view.Load() {
		total += b.disk.BytesRead(s.Path())
	}
	if total > size/int64(segments)*2+int64(segments)*3*8192 {
		t.Errorf("%d of %d bytes in %d segments were read", total, size, segments)
	}
	b.whole(l, 0, 2900)
}

func TestTheMarkOfAnOrderlyStopDoesNotOutliveTheNextStart(t *testing.T) { // A3
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 50)
	b.restart()
	b.fill(b.log("t"), 50)
	b.killed(func(disk *fs.Crash) {
		last := lastFile(t, disk, l.Dir(), segment.LogSuffix)
		whole := read(t, disk, last)
		overwrite(t, disk, last, whole[:len(whole)-37])
	})
	l = b.log("t")
	b.whole(l, 0, 99)
	if r := b.e.Recovery(); r.Clean || r.Cut == 0 {
		t.Errorf("%+v", r)
	}
	b.fill(l, 10)
	b.restart()
	if !b.e.Recovery().Clean {
		t.Error("an orderly stop was not noticed")
	}
	b.killed(func(*fs.Crash) {})
	b.whole(b.log("t"), 0, 109)
	if b.e.Recovery().Clean {
		t.Error("the mark was there after a start")
	}
}

// lastFile returns the name of the last file with an ending in a folder.
func lastFile(t *testing.T, disk fs.FS, dir, suffix string) (last string) {
	t.Helper()
	for _, name := range list(t, disk, dir) {
		if strings.HasSuffix(name, suffix) {
			last = dir + "/" + name
		}
	}
	return last
}

func TestAFileThatEndsBelowTheRecoveryPointIsCutToItsLastBatch(t *testing.T) { // A3 with a checkpoint in between, history 30
	for _, cut := range []int{37, 200, 1000} {
		for _, clean := range []bool{false, true} {
			b := newBench(t)
			c := small()
			c.SegmentBytes = 1 << 20
			l := b.create("t", c)
			b.fill(l, 50)
			must(t, b.e.Checkpoint())
			shorten := func(disk *fs.Crash) {
				last := lastFile(t, disk, l.Dir(), segment.LogSuffix)
				whole := read(t, disk, last)
				overwrite(t, disk, last, whole[:len(whole)-cut])
				unguard(t, disk, l.Dir())
			}
			if clean {
				b.stop()
				shorten(b.disk)
				b.open()
			} else {
				b.killed(shorten)
			}
			l = b.log("t")
			end := l.LogEndOffset()
			if end >= 50 || end < 43 {
				t.Errorf("%d bytes cut: the log ends at %d of 50", cut, end)
			}
			b.whole(l, 0, end)
			b.fill(l, 10)
			b.whole(l, 0, end+10)
			b.crash(fs.KeepAll)
			b.whole(b.log("t"), 0, end+10)
			b.stop()
		}
	}
}
