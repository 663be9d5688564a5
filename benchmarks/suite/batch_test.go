package suite

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zurau/zurau/benchmarks/job"
	"github.com/zurau/zurau/engine/record"
)

func TestABatchHasItsSizeAndIsGoodAlsoWithAStamp(t *testing.T) {
	for _, n := range []int64{smallest, 100, 1000, 4096, 16 << 10, 64 << 10, 1 << 20} {
		for _, size := range []int64{8, 100, 1000, 100000} {
			b, err := newBatch(n, size, record.None)
			if err != nil {
				t.Fatalf("%d bytes of records of %d: %v", n, size, err)
			}
			if l := int64(len(b.bytes)); l > n || l < n-3 {
				t.Errorf("%d bytes for %d", l, n)
			}
			due := time.Unix(12, 345)
			b.stamp(due)
			var p record.Prepared
			if err := p.Prepare(slices.Clone(b.bytes), rules()); err != nil {
				t.Fatalf("%d bytes of records of %d: %v", n, size, err)
			}
			seen := 0
			log := slices.Concat(b.bytes, b.bytes, b.bytes[:len(b.bytes)-1])
			if got := b.stamps(log, func(at time.Time, bytes int64) {
				if seen++; !at.Equal(due) || bytes != int64(len(b.bytes)) {
					t.Errorf("a stamp of %v", at)
				}
			}); got != 2 || seen != 2 {
				t.Errorf("%d stamps", got)
			}
		}
	}
	for _, bad := range [][2]int64{{smallest - 1, 1000}, {4096, 7}} {
		if _, err := newBatch(bad[0], bad[1], record.None); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

func TestACompressedBatchHasWhatAPlainOneHas(t *testing.T) {
	plain, err := newBatch(64<<10, 1000, record.None)
	if err != nil {
		t.Fatal(err)
	}
	for codec := record.Gzip; codec.Known(); codec++ {
		b, err := newBatch(64<<10, 1000, codec)
		if err != nil {
			t.Fatal(err)
		}
		var p record.Prepared
		if err := p.Prepare(slices.Clone(b.bytes), rules()); err != nil || b.bytes.Codec() != codec || b.records != plain.records {
			t.Errorf("%v: %v, %d records of %d, %v", codec, b.bytes.Codec(), b.records, plain.records, err)
		}
		if n := len(plain.bytes) / len(b.bytes); n < 2 || n > 20 {
			t.Errorf("%v: to one of %d", codec, n)
		}
	}
}

func TestABatchThatIsWaitedForIsNotCompressed(t *testing.T) {
	text := "[w]\nrw=write\nfilename=f\nbs=4k\nsize=64k\n#zurau: codec=lz4\n[r]\nrw=read\nfilename=f\nbs=4k\nsize=64k\n"
	file, err := job.Parse("x.fio", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Engine, file.Stages()[0], Options{Dir: t.TempDir()}); !errors.Is(err, errNoStamp) {
		t.Errorf("%v", err)
	}
}
