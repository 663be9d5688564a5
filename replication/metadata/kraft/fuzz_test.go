package kraft

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zurau/zurau/replication/metadata"
)

// Whatever is in a log can be imported, or is an error.
func FuzzRecords(f *testing.F) {
	f.Add(topic("t", a), part(a, 0, 1, 0, 1))
	f.Add(conf(2, "t", "k", "v"), empty(kindNoOp))
	f.Add(topic("t", a), []byte(of(kindPartitionChange, 2).int32(0).id(a).uvarint(1).tag(0, body{}.int32s(2))))
	f.Add([]byte(of(kindClientQuota, 0).uvarint(2).string("user").null().uvarint(0).string("k").int64(7).int8(1).uvarint(0)), empty(kindEndTransaction))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := newState()
		for _, value := range [][]byte{topic("known", metadata.ID{7}), part(metadata.ID{7}, 0, 1, 0, 1), first, second} {
			if s.take(value) != nil {
				return
			}
		}
		plan := s.Import(Broker{NodeID: 1, Directories: []metadata.ID{own}})
		if _, _, err := new(metadata.Image).Apply(1, plan.Records); err != nil {
			t.Errorf("%x %x: %v", first, second, err)
		}
	})
}

// A file of any bytes is read to its end or refused, and never allocated for by what it announces.
func FuzzLog(f *testing.F) {
	good := batches(0, [][]byte{topic("t", a), part(a, 0, 1, 0, 1)}, [][]byte{conf(2, "t", "k", "v")})
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(append(bytes.Clone(good), control(3, 2)...))
	for _, name := range []string{"killed", "clean"} {
		if all, _ := filepath.Glob("../../../../shared/kafka/directories/" + name + ".tar.gz"); len(all) == 1 {
			b, err := os.ReadFile(filepath.Join(kafkaFolder(f, name), "00000000000000000000.log"))
			check(f, err)
			f.Add(b[:4000])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, as := range []string{"00000000000000000000.log", "00000000000000000003-0000000001.checkpoint"} {
			d := newDisk(t)
			d.write(as, b)
			if s, err := Read(d.fsys, dir); err == nil {
				s.Import(Broker{NodeID: 1})
			}
		}
	})
}
