package kraft

import (
	"archive/tar"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
)

// body writes fields as Kafka does: what a test puts in is what Kafka's schemas say.
type body []byte

func (b body) uvarint(v int) body    { return binary.AppendUvarint(b, uint64(v)) }
func (b body) int8(v int8) body      { return append(b, byte(v)) }
func (b body) int16(v int16) body    { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func (b body) int32(v int32) body    { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func (b body) int64(v int64) body    { return binary.BigEndian.AppendUint64(b, uint64(v)) }
func (b body) id(v metadata.ID) body { return append(b, v[:]...) }
func (b body) string(s string) body  { return append(b.uvarint(len(s)+1), s...) }
func (b body) null() body            { return b.uvarint(0) }

func (b body) int32s(v ...int32) body {
	b = b.uvarint(len(v) + 1)
	for _, n := range v {
		b = b.int32(n)
	}
	return b
}

func (b body) ids(v ...metadata.ID) body {
	b = b.uvarint(len(v) + 1)
	for _, n := range v {
		b = b.id(n)
	}
	return b
}

func (b body) tag(n int, value body) body { return append(b.uvarint(n).uvarint(len(value)), value...) }

// of starts a record of a kind and a version.
func of(kind, version int) body { return body{}.uvarint(frameVersion).uvarint(kind).uvarint(version) }

func topic(name string, id metadata.ID) []byte {
	return of(kindTopic, 0).string(name).id(id).uvarint(0)
}

// part is a partition record of version 1 with all replicas in sync.
func part(id metadata.ID, number, leader, epoch int32, replicas ...int32) []byte {
	b := of(kindPartition, 1).int32(number).id(id).int32s(replicas...).int32s(replicas...).int32s().int32s()
	return b.int32(leader).int32(epoch).int32(epoch).ids().uvarint(0)
}

func conf(kind metadata.ResourceType, name, key, value string) []byte {
	return of(kindConfig, 0).int8(int8(kind)).string(name).string(key).string(value).uvarint(0)
}

func removed(kind metadata.ResourceType, name, key string) []byte {
	return of(kindConfig, 0).int8(int8(kind)).string(name).string(key).null().uvarint(0)
}

func empty(kind int) []byte { return of(kind, 0).uvarint(0) }

// A disk is a metadata folder in memory.
type disk struct {
	t    testing.TB
	fsys *fs.Crash
}

const dir = "/data/" + Folder

func newDisk(t testing.TB) disk {
	d := disk{t, fs.NewCrash(1)}
	if err := d.fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d disk) write(name string, content []byte) {
	d.t.Helper()
	f, err := d.fsys.Open(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err == nil {
		err = errors.Join(f.Write(content, 0, false), f.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// batches makes a log file: one batch for each list of records, from an offset on.
func batches(from int64, all ...[][]byte) (b []byte) {
	for _, values := range all {
		batch := record.NewBuilder(record.None)
		for _, v := range values {
			batch.Add(1, nil, v)
		}
		one := batch.Bytes()
		one.SetBaseOffset(from)
		from += int64(len(values))
		b = append(b, one...)
	}
	return b
}

// snapshot makes a checkpoint file of records.
func snapshot(values ...[]byte) []byte {
	b := batches(0, values)
	return append(b, control(int64(len(values)), snapshotFooter)...)
}

// control is a batch with one control record of a type.
func control(offset int64, kind byte) []byte {
	b := record.NewBuilder(record.None)
	b.Control = true
	b.Add(1, []byte{0, 0, 0, kind}, []byte{0, 0})
	one := b.Bytes()
	one.SetBaseOffset(offset)
	return one
}

func (d disk) log(base int64, content []byte) { d.write(fmt.Sprintf("%020d.log", base), content) }

func (d disk) read() *State {
	d.t.Helper()
	s, err := Read(d.fsys, dir)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// kafkaFolder unpacks the metadata folder of a directory that Apache Kafka 4.4 wrote, without its large indexes.
func kafkaFolder(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open("../../../../shared/kafka/directories/" + name + ".tar.gz")
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the directories that Apache Kafka wrote are not beside this repository: %v", err)
	}
	check(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(t, err)
	to := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return to
		}
		check(t, err)
		base, ext := filepath.Base(h.Name), filepath.Ext(h.Name)
		if filepath.Base(filepath.Dir(h.Name)) == Folder && (ext == ".log" || ext == ".checkpoint") {
			b, err := io.ReadAll(r)
			check(t, err)
			check(t, os.WriteFile(filepath.Join(to, base), b, 0o600))
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
