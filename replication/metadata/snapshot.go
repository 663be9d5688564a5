package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// snapshotMagic opens the snapshot file; its last byte is the version of the layout (see doc.go).
var snapshotMagic = [8]byte{'z', 'u', 'r', 'a', 'u', 'M', 'S', 1}

const snapshotHeaderSize = 8 + 4 + 8 + 8

// appendSnapshot appends the image as a snapshot file taken at the entry with the image's offset and that term.
func appendSnapshot(b []byte, img *Image, term uint64) []byte {
	start := len(b)
	b = append(b, snapshotMagic[:]...)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(img.Offset))
	b = binary.BigEndian.AppendUint64(b, term)
	b = AppendRecords(b, img.records())
	binary.BigEndian.PutUint32(b[start+8:], checksum(b[start+12:]))
	return b
}

// decodeSnapshot reads a snapshot file. A snapshot is replaced atomically, so whatever is wrong with it is corruption.
func decodeSnapshot(b []byte) (*Image, uint64, error) {
	if len(b) < snapshotHeaderSize {
		return nil, 0, fmt.Errorf("%d bytes are less than a header", len(b))
	}
	if magic := snapshotMagic; [8]byte(b) != magic {
		if [7]byte(b) == [7]byte(magic[:7]) {
			return nil, 0, fmt.Errorf("snapshot version %d (this program reads %d): %w", b[7], magic[7], ErrNewer)
		}
		return nil, 0, errors.New("this is no metadata snapshot")
	}
	if want, got := binary.BigEndian.Uint32(b[8:]), checksum(b[12:]); want != got {
		return nil, 0, fmt.Errorf("checksum %08x at position 8, but the contents have %08x", want, got)
	}
	offset, term := binary.BigEndian.Uint64(b[12:]), binary.BigEndian.Uint64(b[20:])
	if offset > 1<<62 {
		return nil, 0, fmt.Errorf("offset %d at position 12 is out of range", offset)
	}
	e := new(Image).edit()
	e.next.Offset = int64(offset)
	if err := applyRecords(b[snapshotHeaderSize:], e); err != nil {
		return nil, 0, err
	}
	return e.image(), term, nil
}

// records returns records that make this image from the empty one. Equal images give equal records: everything is in
// order, and partitions have the epochs that the starts of their leaders gave them. Topics that were removed come and go.
func (img *Image) records() []Record {
	records := make([]Record, 0, img.TopicCount()+img.partitions+len(img.brokers)+2*len(img.removed)+16)
	if img.ClusterID != "" {
		records = append(records, ClusterIDRecord{img.ClusterID})
	}
	if img.NextProducerID != 0 {
		records = append(records, ProducerIDsRecord{img.NextProducerID})
	}
	for _, b := range img.Brokers() {
		records = append(records, BrokerRecord{b})
	}
	for _, t := range img.removed {
		records = append(records, TopicRecord{ID: t.ID, Name: t.Name}, RemoveTopicRecord{ID: t.ID})
	}
	for t := range img.Topics("") {
		records = append(records, TopicRecord{ID: t.ID(), Name: t.Name(), Internal: t.Internal()})
		for p := range t.Partitions() {
			records = append(records, PartitionRecord{Topic: t.ID(), Partition: p})
		}
	}
	for _, r := range img.ConfigResources() {
		values := img.Configs(r.Type, r.Name)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			records = append(records, ConfigRecord{Resource: r, Key: key, Value: values[key]})
		}
	}
	return records
}
