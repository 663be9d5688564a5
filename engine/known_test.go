package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/segment"
)

// known checks how many logs the last start did not look at.
func (b *bench) known(what string, want int) {
	b.t.Helper()
	if r := b.e.Recovery(); r.Known != want {
		b.t.Errorf("%s: %d of %d logs were known, want %d", what, r.Known, r.Logs, want)
	}
}

// two makes a log of several segments and one of a single one.
func (b *bench) two() (many, one *Log) {
	b.t.Helper()
	many, one = b.create("many", small()), b.create("one", Config{})
	b.fill(many, 60)
	b.fill(one, 7)
	if many.Segments() < 3 {
		b.t.Fatalf("%d segments", many.Segments())
	}
	return many, one
}

func TestAfterAnOrderlyStopNoFolderIsLookedInto(t *testing.T) {
	b := newBench(t)
	b.two()
	for range 3 {
		b.stop()
		looked := 0
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if dir := filepath.Dir(name); op != fs.OpStat && (dir == "/data/many-0" || dir == "/data/one-0") || op == fs.OpReadDir && name != "/data" {
				looked++
			}
			return nil
		})
		b.open()
		b.disk.SetHook(nil)
		b.known("after a stop", 2)
		if looked > 0 {
			t.Errorf("%d calls on files of logs that are known", looked)
		}
		many, one := b.log("many"), b.log("one")
		many.SetConfig(small())
		b.whole(many, 0, many.LogEndOffset())
		b.whole(one, 0, one.LogEndOffset())
		b.fill(many, 30)
		b.fill(one, 1)
	}
}

// A log that was not written for two checkpoints is as it was, since the page cache outlives the process. One that was is looked at.
func TestAKillLeavesLogsAtRestKnown(t *testing.T) {
	b := newBench(t)
	_, one := b.two()
	must(t, b.e.Checkpoint())
	must(t, b.e.Checkpoint()) // a writer may have ended its turn beside the first
	b.fill(one, 2)
	b.killed(func(*fs.Crash) {})
	b.known("after a kill", 1)
	if scanned := b.e.Recovery().Scanned; scanned == 0 || scanned > 1000 {
		t.Errorf("%d bytes were scanned", scanned)
	}
	b.whole(b.log("many"), 0, 60)
	b.whole(b.log("one"), 0, 9)
	must(t, b.e.Checkpoint())
	b.killed(func(*fs.Crash) {})
	b.known("after two kills", 2)
	b.whole(b.log("many"), 0, 60)
	b.whole(b.log("one"), 0, 9)

	b.crash(fs.DropUnflushed)
	b.known("after a power cut", 0)
	b.whole(b.log("many"), 0, 60)
	b.whole(b.log("one"), 0, 9)
}

// inPlace changes bytes of a file without a change of its name.
func inPlace(t *testing.T, disk fs.FS, name string, change func(f fs.File, size int64)) {
	t.Helper()
	f, err := disk.Open(name, os.O_RDWR)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	change(f, size)
	must(t, f.Datasync())
	must(t, f.Close())
}

func TestALogThatChangedSinceTheStopIsLookedAt(t *testing.T) {
	garble := func(f fs.File, size int64) {
		if err := f.Write([]byte{0xff, 0xff, 0xff}, max(0, size-40), false); err != nil {
			panic(err)
		}
	}
	cut := func(f fs.File, size int64) {
		if err := f.Truncate(size - 1); err != nil {
			panic(err)
		}
	}
	one := func(suffix string) string { return segment.Name("/data/one-0", 0, suffix) }
	for what, change := range map[string]func(t *testing.T, disk fs.FS){
		"the last segment was cut":     func(t *testing.T, d fs.FS) { inPlace(t, d, one(segment.LogSuffix), cut) },
		"the last segment was changed": func(t *testing.T, d fs.FS) { inPlace(t, d, one(segment.LogSuffix), garble) },
		"the index was changed":        func(t *testing.T, d fs.FS) { inPlace(t, d, one(segment.IndexSuffix), garble) },
		"the time index was changed":   func(t *testing.T, d fs.FS) { inPlace(t, d, one(segment.TimeSuffix), garble) },
		"the last segment was replaced": func(t *testing.T, d fs.FS) {
			overwrite(t, d, one(segment.LogSuffix), read(t, d, one(segment.LogSuffix)))
		},
		"the last segment is gone": func(t *testing.T, d fs.FS) { must(t, d.Remove(one(segment.LogSuffix))) },
		"the snapshot is gone":     func(t *testing.T, d fs.FS) { must(t, d.Remove(segment.Name("/data/one-0", 7, segment.SnapshotSuffix))) },
		"the epochs are gone":      func(t *testing.T, d fs.FS) { must(t, d.Remove("/data/one-0/"+checkpoint.LeaderEpochsName)) },
		"a file was put there":     func(t *testing.T, d fs.FS) { overwrite(t, d, "/data/one-0/x", []byte("x")) },
		"the folder is another": func(t *testing.T, d fs.FS) {
			must(t, d.Rename("/data/one-0", "/data/old"))
			must(t, d.MkdirAll("/data/one-0"))
			entries, err := d.ReadDir("/data/old")
			must(t, err)
			for _, e := range entries {
				overwrite(t, d, "/data/one-0/"+e.Name(), read(t, d, "/data/old/"+e.Name()))
			}
		},
	} {
		b := newBench(t)
		b.two()
		b.stop()
		change(t, b.disk)
		b.open()
		b.known(what, 1)
		b.whole(b.log("many"), 0, 60)
	}
}

// Only the mark that we made says that nobody has used the directory since.
func TestKnownLogsAreThoseOfTheStopThatTheMarkIsOf(t *testing.T) {
	mark := "/data/" + checkpoint.CleanShutdownName
	for what, c := range map[string]struct {
		change func(disk fs.FS)
		known  int
	}{
		"another mark of the same content": {func(d fs.FS) { overwrite(t, d, mark, read(t, d, mark)) }, 0},
		"another mark":                     {func(d fs.FS) { overwrite(t, d, mark, []byte(`{"version":0,"brokerEpoch":9}`)) }, 0},
		"no mark":                          {func(d fs.FS) { must(t, d.Remove(mark)) }, 2}, // as after a kill
		"older recovery points": {func(d fs.FS) {
			overwrite(t, d, "/data/"+checkpoint.RecoveryPoints, []byte("0\n2\nmany 0 60\none 0 3\n"))
		}, 1},
		"no recovery points":         {func(d fs.FS) { must(t, d.Remove("/data/"+checkpoint.RecoveryPoints)) }, 0},
		"a log start in the midst":   {func(d fs.FS) { overwrite(t, d, "/data/"+checkpoint.LogStarts, []byte("0\n1\none 0 4\n")) }, 2},
		"a log start beyond the end": {func(d fs.FS) { overwrite(t, d, "/data/"+checkpoint.LogStarts, []byte("0\n1\none 0 40\n")) }, 1},
	} {
		b := newBench(t)
		b.two()
		b.stop()
		c.change(b.disk)
		b.open()
		b.known(what, c.known)
		b.whole(b.log("many"), 0, 60)
	}
}

// shortened is two, started on again when the second segment has lost its end, which it returns.
func (b *bench) shortened() *segment.Segment {
	b.t.Helper()
	many, _ := b.two()
	second := (*many.view.Load())[1]
	b.stop()
	inPlace(b.t, b.disk, second.Path(), func(f fs.File, size int64) { must(b.t, f.Truncate(size/2)) })
	b.open()
	return second
}

// A start does not look at the segments before the last one. Who comes to read one finds out, and is told; the rest is served.
func TestASealedSegmentThatLostItsEndIsNotServed(t *testing.T) {
	b := newBench(t)
	second := b.shortened()
	many := b.log("many")
	r, err := many.Read(0, 1<<20, true)
	must(t, err)
	r.Release()
	for range 2 {
		if _, err := many.Read(second.Base, 1<<20, true); StateOf(err) != SegmentLost {
			t.Errorf("read of a segment that lost its end: %v", err)
		}
	}
	r, err = many.Read((*many.view.Load())[2].Base, 1<<20, true)
	must(t, err)
	r.Release()
	b.fill(many, 1)
	b.restart()
	b.known("after a segment was found short", 1)
	if l, _ := b.e.Log(Name{"many", 0}); l.Err() == nil {
		t.Error("a log that lacks flushed records is online")
	}
}

// What was found is found again by the next start, an orderly stop or not: the entry of before is not believed any more.
func TestALogThatLostSomethingIsLookedAtAfterAKillToo(t *testing.T) {
	b := newBench(t)
	second := b.shortened()
	b.known("before it is read", 2)
	if _, err := b.log("many").Read(second.Base, 1<<20, true); StateOf(err) != SegmentLost {
		t.Fatal(err)
	}
	must(t, b.e.Checkpoint())
	b.killed(func(*fs.Crash) {})
	b.known("after a segment was found short, and a kill", 1)
	if l, _ := b.e.Log(Name{"many", 0}); l.Err() == nil {
		t.Error("a log that lacks flushed records is online")
	}
}

func TestADamagedListOfKnownLogsIsNotBelieved(t *testing.T) {
	b := newBench(t)
	b.two()
	b.stop()
	whole := read(t, b.disk, "/data/"+knownName)
	stopped := b.disk
	for at := 0; at < len(whole); at += 37 {
		for _, content := range [][]byte{whole[:at], bytes.Replace(whole, whole[at:at+1], []byte{whole[at] ^ 0x41}, 1)} {
			b.disk = stopped.Clone(fs.KeepAll)
			overwrite(t, b.disk, "/data/"+knownName, content)
			b.open()
			b.whole(b.log("many"), 0, 60)
			b.whole(b.log("one"), 0, 7)
			must(t, b.e.Close())
		}
	}
}

// What is written while the engine runs does not grow for ever.
func TestTheListOfKnownLogsBeginsAnew(t *testing.T) {
	b := newBench(t)
	many, one := b.two()
	must(t, b.e.Checkpoint())
	b.e.known.kept = -maxKnown / 2
	b.fill(one, 1)
	must(t, b.e.Checkpoint())
	if at := b.e.known.at; at > 100 {
		t.Fatalf("the file has %d bytes", at)
	}
	must(t, b.e.Checkpoint())
	b.killed(func(*fs.Crash) {})
	b.known("after a kill", 2)
	b.whole(b.log("many"), 0, many.LogEndOffset())
	b.whole(b.log("one"), 0, one.LogEndOffset())
}

func FuzzKnownLogs(f *testing.F) {
	f.Add(appendKnown(nil, &knownLog{name: Name{"t", 1}, end: 10, stored: 10, producers: []byte("p"), epochs: []checkpoint.Epoch{{Epoch: 1, StartOffset: 0}},
		segments: []segment.Kept{{Base: 0, Size: 10, MaxTimestamp: -1}, {Base: 5, Size: 100}}}))
	f.Fuzz(func(t *testing.T, entry []byte) {
		k, err := parseKnown(entry)
		if err != nil {
			return
		}
		again, err := parseKnown(appendKnown(nil, k))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(k) {
			t.Errorf("%+v became %+v, %v", k, again, err)
		}
		content := appendFrame(appendFrame([]byte(knownMagic), logFrame, entry), bootFrame, nil)
		n := 0
		if end := eachFrame(content, func(byte, []byte) { n++ }); n != 2 || end != len(content) {
			t.Errorf("%d frames up to %d of %d", n, end, len(content))
		}
	})
}

// The index entries of a checkpoint are not flushed: who comes after a kill does it, before the stop that says that all is.
func TestIndexesThatAKilledProcessWroteAreFlushedByAStop(t *testing.T) {
	for _, known := range []bool{true, false} {
		b := newBench(t)
		b.two()
		must(t, b.e.Checkpoint())
		if known {
			must(t, b.e.Checkpoint())
		}
		b.killed(func(disk *fs.Crash) {
			if !known {
				must(t, disk.Remove("/data/"+knownName))
			}
		})
		many := b.log("many")
		segs := *many.view.Load()
		flushed := map[string]bool{}
		b.disk.SetHook(func(op fs.Op, of string, _ int) error {
			if op == fs.OpDatasync {
				flushed[of] = true
			}
			return nil
		})
		b.stop()
		b.disk.SetHook(nil)
		for _, suffix := range []string{segment.IndexSuffix, segment.TimeSuffix} {
			if name := segment.Name(many.dir, segs[len(segs)-1].Base, suffix); !flushed[name] {
				t.Errorf("known %t: %s is not flushed", known, name)
			}
		}
	}
}

// The disk does not say which of its writes it has lost: what a stop hears of the list is a failure of the directory, and no mark is made.
func TestAListThatWasNotWrittenBackLeavesNoMarkOfAStop(t *testing.T) {
	b := newBench(t)
	b.two()
	must(t, b.e.Checkpoint())
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op == fs.OpDatasync && name == "/data/"+knownName {
			return unix.EIO
		}
		return nil
	})
	if err := b.e.Close(); !errors.Is(err, unix.EIO) || !errors.Is(b.e.Err(), ErrOffline) {
		t.Errorf("closed with %v, offline with %v", err, b.e.Err())
	}
	b.disk.SetHook(nil)
	if _, clean, err := checkpoint.ReadCleanShutdown(b.disk, "/data"); clean || err != nil {
		t.Errorf("clean %v, %v", clean, err)
	}
	b.open()
	b.whole(b.log("one"), 0, 7)
}
