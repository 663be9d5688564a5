package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/engine/segment"
)

// patch changes bytes of a file in place, beyond its end if need be.
func patch(t testing.TB, disk fs.FS, name string, at int64, with []byte) {
	t.Helper()
	f, err := disk.Open(name, os.O_RDWR)
	must(t, err)
	must(t, f.Write(with, at, false))
	must(t, f.Datasync())
	must(t, f.Close())
}

// placeOf returns where the batch that starts at an offset is, in a log of a stopped engine with one segment.
func placeOf(t testing.TB, disk fs.FS, name string, offset int64) (position int64, size int) {
	t.Helper()
	b := read(t, disk, name)
	for at := int64(0); len(b) > 0; {
		batch, rest, err := record.Next(b)
		must(t, err)
		if batch.BaseOffset() == offset {
			return at, len(batch)
		}
		at, b = at+int64(len(batch)), rest
	}
	t.Fatalf("no batch at offset %d of %s", offset, name)
	return 0, 0
}

const firstLog = "/data/t-0/00000000000000000000.log"

func TestATornTailIsCutAndKeptAside(t *testing.T) {
	for name, tear := range map[string]func(disk fs.FS, at int64, size int){
		"a byte flipped":         func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+80, []byte{0xaa}) },
		"the header overwritten": func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at, make([]byte, 61)) },
		"a hole":                 func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at, make([]byte, size)) },
		"a length of 2 GiB":      func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+8, []byte{0x7f, 0xff, 0xff, 0xff}) },
		"a negative length":      func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+8, []byte{0xff}) },
		"an old offset":          func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at, []byte{0, 0, 0, 0, 0, 0, 0, 3}) },
		"another magic":          func(disk fs.FS, at int64, size int) { patch(t, disk, firstLog, at+16, []byte{1}) },
	} {
		b := newBench(t)
		l := b.create("t", Config{IndexInterval: 300})
		b.fill(l, 30)
		must(t, b.e.Checkpoint())
		b.fill(l, 10)
		var want []byte
		b.killed(func(disk *fs.Crash) {
			at, size := placeOf(t, disk, firstLog, 34)
			tear(disk, at, size)
			want = read(t, disk, firstLog)[at:]
		})
		l = b.log("t")
		b.whole(l, 0, 34)
		if r := b.e.Recovery(); r.Cut != int64(len(want)) || r.Offline != 0 {
			t.Errorf("%s: %+v, want %d bytes cut", name, r, len(want))
		}
		side := ""
		for _, file := range list(t, b.disk, l.Dir()) {
			if strings.Contains(file, tornSuffix) {
				side = file
			}
		}
		if got := read(t, b.disk, l.Dir()+"/"+side); !bytes.Equal(got, want) {
			t.Errorf("%s: %s has %d bytes, want the %d that were cut", name, side, len(got), len(want))
		}
		b.fill(l, 10)
		must(t, l.Flush())
		b.crash(fs.DropUnflushed)
		b.whole(b.log("t"), 0, 44)
		b.stop()
	}
}

func TestZerosBehindTheLastBatchAreCutInSilence(t *testing.T) {
	for _, checkpointed := range []bool{true, false} {
		b := newBench(t)
		l := b.create("t", Config{IndexInterval: 300})
		b.fill(l, 30)
		if checkpointed {
			must(t, b.e.Checkpoint())
		}
		b.killed(func(disk *fs.Crash) {
			patch(t, disk, firstLog, int64(len(read(t, disk, firstLog))), make([]byte, 3<<20))
		})
		b.whole(b.log("t"), 0, 30)
		if r := b.e.Recovery(); r.Cut != 0 || checkpointed && r.Scanned != 0 {
			t.Errorf("%+v", r)
		}
		for _, file := range list(t, b.disk, l.Dir()) {
			if strings.Contains(file, tornSuffix) {
				t.Errorf("%s of zeros", file)
			}
		}
		b.stop()
	}
}

func TestTheSegmentsBehindALostTailAreSetAside(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 5)
	must(t, b.e.Checkpoint())
	b.fill(l, 60)
	second := (*l.view.Load())[1].Base
	b.killed(func(disk *fs.Crash) { // the last batch of the first segment never got there; a batch's end is the file's end
		at, _ := placeOf(t, disk, firstLog, second-1)
		f, err := disk.Open(firstLog, os.O_RDWR)
		must(t, err)
		must(t, f.Truncate(at))
		must(t, f.Close())
	})
	l = b.log("t")
	b.whole(l, 0, second-1)
	if b.e.Recovery().Cut == 0 {
		t.Errorf("%+v", b.e.Recovery())
	}
	b.fill(l, 60)
	must(t, l.Flush())
	b.crash(fs.DropUnflushed)
	b.whole(b.log("t"), 0, second-1+60)
}

func TestABadBatchBelowTheRecoveryPointIsCorruption(t *testing.T) {
	for name, hurt := range map[string]func(disk *fs.Crash){
		"in a sealed segment": func(disk *fs.Crash) {
			b := read(t, disk, firstLog)
			overwrite(t, disk, firstLog, b[:len(b)-20])
		},
		"a sealed segment ends early": func(disk *fs.Crash) {
			at, _ := placeOf(t, disk, firstLog, 4)
			overwrite(t, disk, firstLog, read(t, disk, firstLog)[:at])
			overwrite(t, disk, "/data/recovery-point-offset-checkpoint", nil)
			overwrite(t, disk, "/data/"+recoveryName, nil)
			must(t, checkpoint.WriteOffsets(disk, "/data/recovery-point-offset-checkpoint", []checkpoint.Offset{{Topic: "t", Offset: 6}}))
		},
		"in the last segment, with a good one behind": func(disk *fs.Crash) {
			last := lastFile(t, disk, "/data/t-0", segment.LogSuffix)
			patch(t, disk, last, 70, []byte{0xaa})
			// and the index is gone, so that the recovery point is looked for through the log
			overwrite(t, disk, "/data/recovery-point-offset-checkpoint", nil)
			must(t, checkpoint.WriteOffsets(disk, "/data/recovery-point-offset-checkpoint", []checkpoint.Offset{{Topic: "t", Offset: 61}}))
			patch(t, disk, last, 8, []byte{0x7f})
		},
	} {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 60)
		must(t, b.e.Checkpoint())
		b.fill(l, 2)
		var before map[string][]byte
		b.killed(func(disk *fs.Crash) {
			hurt(disk)
			before = snapshotOf(t, disk, l.Dir(), segment.LogSuffix)
		})
		l, _ = b.e.Log(Name{"t", 0})
		var bad *corruption
		if err := l.Err(); !isErr(err, ErrOffline) || !asErr(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		for range 2 { // a corrupt log is as bad, and as whole, at the next start
			for file, want := range before {
				if got := read(t, b.disk, file); !bytes.Equal(got, want) {
					t.Errorf("%s: %s was changed", name, file)
				}
			}
			b.restart()
			if l, _ = b.e.Log(Name{"t", 0}); l.Err() == nil {
				t.Errorf("%s: sound after another start", name)
			}
		}
		b.stop()
	}
}

// snapshotOf returns the bytes of files of a folder.
func snapshotOf(t *testing.T, disk fs.FS, dir, suffix string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range list(t, disk, dir) {
		if strings.HasSuffix(name, suffix) {
			files[dir+"/"+name] = read(t, disk, dir+"/"+name)
		}
	}
	return files
}

func TestSmallFilesThatAreMissingStaleOrGarbageCostNothing(t *testing.T) { // history 28-30
	b := newBench(t)
	b.fill(b.create("t", small()), 60)
	must(t, b.e.Checkpoint())
	stale := b.disk.Clone(fs.KeepAll)
	b.fill(b.log("t"), 40)
	must(t, b.e.Checkpoint())
	b.fill(b.log("t"), 5)
	must(t, b.log("t").Flush())
	full := b.disk.Clone(fs.KeepAll)
	b.stop()
	files := []string{checkpoint.RecoveryPoints, checkpoint.HighWatermarks, checkpoint.LogStarts, recoveryName, "t-0/" + checkpoint.LeaderEpochsName,
		"t-0/" + checkpoint.PartitionMetadataName}
	for _, name := range list(t, full, "/data/t-0") {
		if strings.HasSuffix(name, segment.SnapshotSuffix) {
			files = append(files, "t-0/"+name)
		}
	}
	for _, file := range files {
		for how, with := range map[string][]byte{"missing": nil, "empty": {}, "garbage": []byte("\x00\xffgarbage\n1\n2"), "stale": []byte("stale"),
			"half": []byte("half"), "zeros": make([]byte, 100)} {
			b.disk = full.Clone(fs.KeepAll)
			name := "/data/" + file
			if _, err := b.disk.Stat(name); err != nil && how != "garbage" {
				continue
			}
			switch how {
			case "stale":
				if _, err := stale.Stat(name); err != nil {
					continue
				}
				with = read(t, stale, name)
			case "half":
				whole := read(t, b.disk, name)
				with = whole[:len(whole)/2]
			}
			overwrite(t, b.disk, name, with)
			b.open()
			l := b.log("t")
			b.whole(l, 0, 105)
			if l.LatestEpoch() != 0 || l.EpochAt(3) != 0 {
				t.Errorf("%s %s: epochs %d, %d", how, file, l.LatestEpoch(), l.EpochAt(3))
			}
			if what := fmt.Sprint(how, " ", file); file != files[0] && file != recoveryName && b.e.Recovery().Scanned > 2000 {
				t.Errorf("%s: %d bytes were scanned", what, b.e.Recovery().Scanned)
			}
			b.fill(l, 5)
			b.restart()
			b.whole(b.log("t"), 0, 110)
			b.stop()
		}
	}
	b.open()
}

func TestARecoveryPointAheadOfTheLogIsClamped(t *testing.T) { // history 30
	for _, at := range []int64{31, 35, 1000, 1 << 40} {
		b := newBench(t)
		l := b.create("t", small())
		b.fill(l, 30)
		must(t, l.Flush())
		b.killed(func(disk *fs.Crash) {
			must(t, checkpoint.WriteOffsets(disk, "/data/recovery-point-offset-checkpoint", []checkpoint.Offset{{Topic: "t", Offset: at}}))
		})
		l = b.log("t")
		b.whole(l, 0, 30)
		if r := b.e.Recovery(); r.Offline != 0 || r.Cut != 0 {
			t.Errorf("%+v", r)
		}
		b.fill(l, 20) // unflushed, below the point that was: they have to be looked at
		b.killed(func(disk *fs.Crash) {
			last := lastFile(t, disk, l.Dir(), segment.LogSuffix)
			whole := read(t, disk, last)
			patch(t, disk, last, int64(len(whole))-10, []byte("damage"))
		})
		b.whole(b.log("t"), 0, 49)
		b.stop()
	}
}

func TestARecoveryPointInsideABatchIsOfOtherFiles(t *testing.T) {
	b := newBench(t)
	l := b.create("t", Config{})
	for i := range 10 {
		b.add(l, batchOf(fmt.Sprint("x", i), 3, 100, testNow, -1, 0))
	}
	want, err := contents(l)
	must(t, err)
	b.killed(func(disk *fs.Crash) {
		must(t, checkpoint.WriteOffsets(disk, "/data/recovery-point-offset-checkpoint", []checkpoint.Offset{{Topic: "t", Offset: 16}}))
	})
	got, err := contents(b.log("t"))
	must(t, err)
	must(t, same(got, want))
}
