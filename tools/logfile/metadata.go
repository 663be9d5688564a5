package logfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/zurau/zurau/replication/metadata"
)

// The files are drawn in the documentation of package replication/metadata, which owns them.
const (
	frameHeader   = 17
	maxFrame      = 256 << 20
	kindHeader    = 1
	kindEntry     = 2
	kindState     = 3
	snapshotStart = 28
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is one of the metadata log.
type frame struct {
	position int64
	back     int64 // to the start of the write that it was part of
	kind     byte
	payload  []byte
}

// nextFrame decodes the frame at a position.
func nextFrame(b []byte, at int) (f frame, end int, err error) {
	left := b[at:]
	if len(left) < frameHeader {
		return f, 0, fmt.Errorf("%d bytes are less than the header of a frame (%d)", len(left), frameHeader)
	}
	if salt, own := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(left[4:]); salt != own {
		return f, 0, fmt.Errorf("a frame with salt %08x in a file of salt %08x", own, salt)
	}
	n := binary.BigEndian.Uint32(left[8:])
	if n > maxFrame || int(n) > len(left)-frameHeader {
		return f, 0, fmt.Errorf("a frame of %d bytes with %d left in the file", n, len(left)-frameHeader)
	}
	whole := left[:frameHeader+int(n)]
	if stored, computed := binary.BigEndian.Uint32(whole), crc32.Checksum(whole[4:], castagnoli); stored != computed {
		return f, 0, fmt.Errorf("checksum %08x, computed %08x", stored, computed)
	}
	f = frame{int64(at), int64(binary.BigEndian.Uint32(whole[12:])), whole[16], whole[frameHeader:]}
	return f, at + len(whole), nil
}

// frames visits the frames of a metadata log. It returns where the first bad one is and what is wrong with it, and
// whether a later write proves that it was flushed once.
func frames(b []byte, visit func(frame) error) (bad int, proven bool, err error) {
	for at := 0; at < len(b); {
		f, end, err := nextFrame(b, at)
		if err != nil {
			return at, provenBehind(b, at), err
		}
		if err := visit(f); err != nil {
			return at, true, err
		}
		at = end
	}
	return len(b), false, nil
}

// provenBehind looks for a frame of a write that began behind a bad place.
func provenBehind(b []byte, bad int) bool {
	for at := bad + 1; at+frameHeader <= len(b); at++ {
		if f, _, err := nextFrame(b, at); err == nil && int64(at)-f.back > int64(bad) {
			return true
		}
	}
	return false
}

// item decodes a frame for Dump.
func (f frame) item() (MetadataItem, error) {
	i := MetadataItem{Position: f.position, Fields: map[string]uint64{}}
	b := f.payload
	next := func(name string) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return
		}
		b = b[n:]
		i.Fields[name] = v
		i.names = append(i.names, name)
	}
	switch f.kind {
	case kindHeader:
		i.Type = "header"
	case kindState:
		i.Type = "state"
		next("term")
		next("vote")
		next("commit")
	case kindEntry:
		i.Type = "entry"
		if len(b) == 0 {
			return i, errors.New("an entry without a type")
		}
		raft := b[0]
		b = b[1:]
		next("index")
		next("term")
		if raft == 0 && len(b) > 0 {
			records, err := metadata.DecodeRecords(b)
			i.Records = named(records)
			return i, err
		}
	default:
		return i, fmt.Errorf("a frame of unknown kind %d", f.kind)
	}
	return i, nil
}

func named(records []metadata.Record) (all []MetadataRecord) {
	for _, r := range records {
		kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", r), "metadata."), "Record")
		all = append(all, MetadataRecord{kind, r})
	}
	return all
}

func (d *Dump) metadataLog(b []byte) error {
	var stop error
	bad, _, err := frames(b, func(f frame) error {
		i, err := f.item()
		if err != nil {
			return err
		}
		stop = d.Give(i)
		return stop
	})
	switch {
	case stop != nil:
		return stop
	case err != nil:
		return d.bad(int64(bad), int64(len(b)-bad), err)
	}
	return nil
}

// metadataRecords decodes a snapshot.
func metadataRecords(b []byte) (i MetadataItem, err error) {
	if len(b) < snapshotStart || string(b[:7]) != "zurauMS" {
		return i, errors.New("this is no metadata snapshot")
	}
	if stored, computed := binary.BigEndian.Uint32(b[8:]), crc32.Checksum(b[12:], castagnoli); stored != computed {
		return i, fmt.Errorf("checksum %08x, computed %08x", stored, computed)
	}
	i = MetadataItem{Type: "snapshot", names: []string{"offset", "term"}, Fields: map[string]uint64{
		"offset": binary.BigEndian.Uint64(b[12:]), "term": binary.BigEndian.Uint64(b[20:])}}
	records, err := metadata.DecodeRecords(b[snapshotStart:])
	i.Records = named(records)
	return i, err
}

func (d *Dump) metadataSnapshot(b []byte) error {
	i, err := metadataRecords(b)
	if err != nil {
		return d.bad(0, int64(len(b)), err)
	}
	return d.Give(i)
}
