package job

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("x.fio", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryProfileOfTheProjectIsUnderstood(t *testing.T) {
	all, err := filepath.Glob("../../fio-profiles/*.fio")
	if err != nil || len(all) < 7 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		f, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(f.Stages()) == 0 {
			t.Error(name, "has no stage")
		}
	}
}

func TestSectionsHaveWhatGlobalSaidBeforeThem(t *testing.T) {
	f := parse(t, `; a comment
[global]
bs=16k   # of a batch
direct
sync=dsync
#zurau: record=100
[a]
rw=write
size=1g
runtime=1500ms
[global]
bs=64k
[b]
stonewall
rw=read
size=2m
nrfiles=8
iodepth=4
#zurau: bs=1000 streams=2
buffered=1
sync=none
`)
	a, b := f.Jobs[0], f.Jobs[1]
	if a.BlockSize != 16<<10 || !a.Direct || a.Sync != Dsync || !a.Durable() || a.Record() != 100 || a.Runtime != 1500*time.Millisecond || a.Pattern != Write {
		t.Errorf("%+v", a)
	}
	if b.BlockSize != 64<<10 || b.Direct || b.Durable() || b.Batch() != 1000 || b.Streams() != 2 || b.Logs() != 8 || !b.Stonewall || b.Size != 2<<20 {
		t.Errorf("%+v", b)
	}
	if s := f.Stages(); len(s) != 2 || len(s[0]) != 1 {
		t.Errorf("stages %v", s)
	}
}

func TestWhatIsNotUnderstoodIsRefusedWithFileLineKeyAndValue(t *testing.T) {
	for text, want := range map[string]string{
		"[a]\nrw=randwrite\nsize=1m":                  "x.fio:2: rw=randwrite: want write, read or rw",
		"[a]\nsize=10%":                               "x.fio:2: size=10%: want a size",
		"[a]\nsize=1m\nverify=crc32c":                 "x.fio:3: verify=crc32c: not supported here",
		"[a]\nsize=1m\nbs=4k,8k":                      "x.fio:3: bs=4k,8k: want a size",
		"[a]\nsize=1m\nruntime=soon":                  "x.fio:3: runtime=soon: want a time",
		"[a]\nsize=1m\n#zurau: color=red":             "x.fio:3: color=red: no such key of ours",
		"[a]\nsize=1m\n#zurau: codec=brotli":          "x.fio:3: codec=brotli: want none, gzip, snappy, lz4 or zstd",
		"[a]\nsize=1m\niodepth=0":                     "x.fio:3: iodepth=0: want a number from 1",
		"bs=4k\n[a]\nsize=1m":                         "x.fio:1: bs=4k: before the first [section]",
		"[a]\nrw=write":                               "x.fio:1: [a]: a size is missing",
		"[a]\nsize=1m\ntime_based":                    "x.fio:3: time_based=: a runtime is missing",
		"[a]\nsize=4k\nnrfiles=2":                     "x.fio:2: size=4k: less than one block",
		"[a]\nsize=1m\n[a]\nsize=1m":                  "x.fio:3: [a]: a section of that name is above",
		"[global]\nsize=1m":                           "x.fio:1: no job",
		"[a\nsize=1m":                                 "x.fio:1: [a: want [name]",
		"[a]\nsize=1m\nfilename=a:b":                  "x.fio:3: filename=a:b: want one name",
		"[a]\nsize=1m\ndirect=yes":                    "x.fio:3: direct=yes: want 0 or 1",
		"[a]\nsize=1m\nrwmixread=101":                 "x.fio:3: rwmixread=101: want a percentage",
		"[a]\nsize=99999999999999t":                   "x.fio:2: size=99999999999999t: want a size",
		"[a]\nsize=1m\nfdatasync=often":               "x.fio:3: fdatasync=often: want a number of writes",
		"[a]\nsize=1m\nsync=maybe":                    "x.fio:3: sync=maybe: want none, sync or dsync",
		"[a]\nsize=1m\nioengine=mmap":                 "x.fio:3: ioengine=mmap: want io_uring",
		"[a]\nsize=1t\nnumjobs=900000\nnrfiles=90000": "x.fio:3: numjobs=900000: too many",
	} {
		_, err := Parse("x.fio", []byte(text))
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSizesAndTimesAreFios(t *testing.T) {
	for text, want := range map[string]int64{"4k": 4096, "1M": 1 << 20, "2gib": 2 << 30, "512": 512, "3kb": 3072, "1t": 1 << 40} {
		if n, ok := bytesOf(text); !ok || n != want {
			t.Errorf("%s: %d", text, n)
		}
	}
	for text, want := range map[string]time.Duration{"3": 3 * time.Second, "3s": 3 * time.Second, "250ms": 250 * time.Millisecond, "2m": 2 * time.Minute, "10us": 10 * time.Microsecond} {
		if d, ok := durationOf(text); !ok || d != want {
			t.Errorf("%s: %v", text, d)
		}
	}
}

func TestAStageThatIsWrittenIsReadBackTheSame(t *testing.T) {
	f, err := Load("../../fio-profiles/tail-read.fio")
	if err != nil {
		t.Fatal(err)
	}
	f.Shorten(400*time.Millisecond, 1<<20)
	for _, s := range f.Stages() {
		var b strings.Builder
		if _, err := s.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		back := parse(t, b.String())
		if len(back.Jobs) != len(s) {
			t.Fatalf("%d jobs of %d", len(back.Jobs), len(s))
		}
		for i, j := range back.Jobs {
			w := s[i]
			if j.Name != w.Name || j.Size != w.Size || j.Runtime != w.Runtime || j.StartDelay != w.StartDelay || j.Rate != w.Rate ||
				j.Pattern != w.Pattern || j.Filename != w.Filename || j.TimeBased != w.TimeBased || j.Clones != w.Clones || j.Ramp != w.Ramp {
				t.Errorf("%+v\nwas %+v", j, w)
			}
		}
	}
}

// FuzzParse holds that whatever a file says, a job that comes out of it can be run.
func FuzzParse(f *testing.F) {
	all, err := filepath.Glob("../../fio-profiles/*.fio")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("x.fio", text)
		if err != nil {
			return
		}
		n := 0
		for _, s := range file.Stages() {
			n += len(s)
		}
		if n != len(file.Jobs) || n == 0 {
			t.Fatalf("%d of %d jobs in stages", n, len(file.Jobs))
		}
		for _, j := range file.Jobs {
			if j.Size < j.BlockSize || j.BlockSize < 1 || j.Logs() < 1 || j.Streams() < 1 || j.Batch() < 1 || j.Runtime < 0 || j.PerSecond(j.Batch()) < 0 {
				t.Fatalf("%+v", j)
			}
		}
	})
}
