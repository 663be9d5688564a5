package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zurau/zurau/replication/metadata/decode"
)

// entryVersion is the first byte of every entry of the metadata log and of a snapshot's records.
const entryVersion = 1

// recordVersion is the version of every kind that this program writes, and the newest it reads.
const recordVersion = 0

// ErrNewer means that the metadata was written by a newer program: a kind or a version that this one does not know.
// Leaving such a record out would give an image that differs from the cluster's, so nothing is read.
var ErrNewer = errors.New("written by a newer version of zurau")

// AppendRecords appends the encoding of one entry: the entry version and the records.
func AppendRecords(b []byte, records []Record) []byte {
	b = append(b, entryVersion)
	var body []byte
	for _, r := range records {
		body = r.appendBody(body[:0])
		b = binary.AppendUvarint(b, uint64(r.Kind()))
		b = binary.AppendUvarint(b, recordVersion)
		b = binary.AppendUvarint(b, uint64(len(body)))
		b = append(b, body...)
	}
	return b
}

// DecodeRecords decodes one entry. It copies what it keeps.
func DecodeRecords(b []byte) ([]Record, error) {
	var records []Record
	err := eachRecord(b, nil, func(r Record) error {
		records = append(records, r)
		return nil
	})
	return records, err
}

// applyRecords applies an entry's records to an edit, without a copy of what the image shares.
func applyRecords(b []byte, e *edit) error {
	return eachRecord(b, new(sharing), func(r Record) error { return r.apply(e) })
}

// eachRecord calls visit for each record of an entry, in order, until an error. With sharing, partition records are
// valid only during the call.
func eachRecord(b []byte, s *sharing, visit func(Record) error) error {
	if len(b) == 0 {
		return fmt.Errorf("metadata entry: %w", decode.ErrShort)
	}
	if b[0] != entryVersion {
		return fmt.Errorf("metadata entry version %d (this program reads %d): %w", b[0], entryVersion, ErrNewer)
	}
	d := decoder{Fields: decode.Fields{B: b[1:]}, sharing: s}
	for n := 0; len(d.B) > 0; n++ {
		r, err := d.record()
		if err != nil {
			return fmt.Errorf("metadata entry, record %d: %w", n, err)
		}
		if err := visit(r); err != nil {
			return fmt.Errorf("metadata entry, record %d: %w", n, err)
		}
	}
	return nil
}

// record decodes the record at the front of d.
func (d *decoder) record() (Record, error) {
	kind, version, size := d.uvarint(), d.uvarint(), d.uvarint()
	if d.Err == nil && size > uint64(len(d.B)) {
		d.Err = decode.ErrShort
	}
	if d.Err != nil {
		return nil, d.Err
	}
	if version > recordVersion {
		return nil, fmt.Errorf("kind %d, version %d (this program reads up to %d): %w", kind, version, recordVersion, ErrNewer)
	}
	rest := d.B[size:]
	d.B = d.B[:size]
	r := d.body(kind)
	switch {
	case r == nil:
		return nil, fmt.Errorf("kind %d is unknown: %w", kind, ErrNewer)
	case d.Err != nil:
		return nil, fmt.Errorf("kind %d: %w", kind, d.Err)
	case len(d.B) != 0:
		return nil, fmt.Errorf("kind %d: %d bytes behind the last field", kind, len(d.B))
	}
	d.B = rest
	return r, nil
}

// body decodes the fields of a kind, or returns nil where the kind is unknown.
func (d *decoder) body(kind uint64) Record {
	if kind > uint64(^Kind(0)) {
		return nil
	}
	switch Kind(kind) {
	case KindClusterID:
		return ClusterIDRecord{ID: d.string()}
	case KindTopic:
		return TopicRecord{ID: d.id(), Name: d.string(), Internal: d.bool()}
	case KindPartition:
		return d.partition()
	case KindRemoveTopic:
		return RemoveTopicRecord{ID: d.id()}
	case KindConfig:
		r := ConfigRecord{Resource: Resource{Type: ResourceType(d.byte()), Name: d.string()}, Key: d.string()}
		r.Delete, r.Value = d.bool(), d.string()
		return r
	case KindProducerIDs:
		return ProducerIDsRecord{Next: d.int64()}
	case KindBroker:
		return d.broker()
	case KindStart:
		return StartRecord{Node: d.int32()}
	}
	return nil
}

func (d *decoder) broker() Record {
	r := BrokerRecord{Broker{ID: d.int32(), Epoch: d.int64(), Incarnation: d.id()}}
	// An endpoint has at least two length bytes and two of the port.
	if n := d.count(4); n > 0 {
		r.Endpoints = make([]Endpoint, n)
		for i := range r.Endpoints {
			r.Endpoints[i] = Endpoint{Name: d.string(), Host: d.string(), Port: d.uint16()}
		}
	}
	r.Rack, r.Directories, r.Fenced = d.string(), d.ids(), d.bool()
	return r
}

func (r ClusterIDRecord) appendBody(b []byte) []byte { return appendString(b, r.ID) }

func (r TopicRecord) appendBody(b []byte) []byte {
	return appendBool(appendString(append(b, r.ID[:]...), r.Name), r.Internal)
}

func (r PartitionRecord) appendBody(b []byte) []byte {
	b = append(b, r.Topic[:]...)
	for _, v := range [...]int32{r.ID, r.Leader, r.LeaderEpoch, r.PartitionEpoch} {
		b = binary.AppendVarint(b, int64(v))
	}
	return appendIDs(appendInt32s(appendInt32s(b, r.Replicas), r.ISR), r.Directories)
}

func (r RemoveTopicRecord) appendBody(b []byte) []byte { return append(b, r.ID[:]...) }

func (r ConfigRecord) appendBody(b []byte) []byte {
	b = appendString(append(b, byte(r.Resource.Type)), r.Resource.Name)
	return appendString(appendBool(appendString(b, r.Key), r.Delete), r.Value)
}

func (r ProducerIDsRecord) appendBody(b []byte) []byte { return binary.AppendVarint(b, r.Next) }

func (r BrokerRecord) appendBody(b []byte) []byte {
	b = binary.AppendVarint(binary.AppendVarint(b, int64(r.ID)), r.Epoch)
	b = append(b, r.Incarnation[:]...)
	b = binary.AppendUvarint(b, uint64(len(r.Endpoints)))
	for _, e := range r.Endpoints {
		b = appendString(appendString(b, e.Name), e.Host)
		b = binary.BigEndian.AppendUint16(b, e.Port)
	}
	return appendBool(appendIDs(appendString(b, r.Rack), r.Directories), r.Fenced)
}

func (r StartRecord) appendBody(b []byte) []byte { return binary.AppendVarint(b, int64(r.Node)) }
