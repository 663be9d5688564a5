package logfile

import (
	"testing"

	"github.com/zurau/zurau/tests/kafkadirs"
)

func TestDirectoriesOfApacheKafkaHaveNoProblems(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		t.Run(name, func(t *testing.T) {
			dir := kafkadirs.Unpack(t, name)
			v := Verify{Records: true, Report: func(p Problem) {
				if !p.Note() {
					t.Error(p)
				}
			}}
			must(t, v.Path(dir))
			if v.Summary.Logs < 10 || v.Summary.Records < 2000 {
				t.Errorf("too little was looked at: %v", v.Summary)
			}
		})
	}
}

func TestDirectoriesOfApacheKafkaCanBeDumped(t *testing.T) {
	for _, name := range []string{"clean", "killed"} {
		t.Run(name, func(t *testing.T) {
			kinds := map[Kind]int{}
			records := 0
			d := Dump{Records: true, Give: func(i Item) error {
				switch i := i.(type) {
				case FileItem:
					kinds[i.Kind]++
				case RecordItem:
					records++
				}
				return nil
			}}
			must(t, d.Path(kafkadirs.Unpack(t, name)))
			for _, k := range []Kind{Batches, OffsetIndex, TimeIndex, TxnIndex, ProducerSnapshot, OffsetCheckpoint, LeaderEpochs, PartitionMetadata, Meta} {
				if kinds[k] == 0 {
					t.Errorf("no %s", k)
				}
			}
			if records < 2000 {
				t.Errorf("%d records", records)
			}
		})
	}
}
