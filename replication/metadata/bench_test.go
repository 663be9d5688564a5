package metadata

import (
	"context"
	"fmt"
	"testing"
)

// large is an image of 2,000 topics with 5 partitions each.
func large(b *testing.B) (*Image, []Record) {
	b.Helper()
	var records []Record
	for i := range 2000 {
		records = append(records, topicRecords(numberedID(i), fmt.Sprint("topic-", i), 5)...)
	}
	img, _, err := new(Image).Apply(1, records)
	if err != nil {
		b.Fatal(err)
	}
	return img, records
}

func BenchmarkCreateOneTopicAmong10000Partitions(b *testing.B) {
	img, _ := large(b)
	one := topicRecords(numberedID(5000), "topic-1x", 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := img.Apply(2, one); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreate1000TopicsInOneEntry(b *testing.B) {
	img, _ := large(b)
	var records []Record
	for i := range 1000 {
		records = append(records, topicRecords(numberedID(5000+i), fmt.Sprint("new-", i), 1)...)
	}
	for b.Loop() {
		if _, err := newProposal(img, 1, records); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookUpByName(b *testing.B) {
	img, _ := large(b)
	for b.Loop() {
		t, _ := img.Topic("topic-1234")
		if p, _ := t.Partition(3); p.ID != 3 {
			b.Fatal(p)
		}
	}
}

func BenchmarkDecodeSnapshotOf10000Partitions(b *testing.B) {
	img, _ := large(b)
	snapshot := appendSnapshot(nil, img, 1)
	b.ReportMetric(float64(len(snapshot)), "bytes/snapshot")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := decodeSnapshot(snapshot); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenWith10000Partitions starts from a log (all of it replayed) and from a snapshot.
func BenchmarkOpenWith10000Partitions(b *testing.B) {
	for name, compact := range map[string]int64{"log": 1 << 30, "snapshot": 1} {
		b.Run(name, func(b *testing.B) {
			opts := Options{Dir: b.TempDir(), CompactBytes: compact}
			_, records := large(b)
			n := open(b, opts)
			update(b, n, records...)
			if err := n.Close(); err != nil {
				b.Fatal(err)
			}
			opts.CompactBytes = 0
			for b.Loop() {
				n, err := Open(opts)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if n.Image().PartitionCount() != 10_000 {
					b.Fatal(n.Image().PartitionCount())
				}
				if err := n.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func BenchmarkUpdatesOf64Writers(b *testing.B) {
	n := open(b, Options{Dir: b.TempDir()})
	b.SetParallelism(32) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := n.AllocateProducerIDs(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}
