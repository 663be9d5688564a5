package readers

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchBytes is the most that one fetch asks for.
const fetchBytes = 1 << 20

// A conn is a connection of a client that says what it likes, when it likes.
type conn struct{ *net.TCPConn }

func dial(t *testing.T, addr string) conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return conn{c.(*net.TCPConn)}
}

// fetch is a request frame for the records of a topic's first partition from an offset on.
func fetch(topic string, offset int64) []byte {
	req := kmsg.NewPtrFetchRequest()
	rt := kmsg.NewFetchRequestTopic()
	rp := kmsg.NewFetchRequestTopicPartition()
	rt.Topic, rp.FetchOffset, rp.PartitionMaxBytes = topic, offset, fetchBytes
	rt.Partitions = append(rt.Partitions, rp)
	req.Version, req.ReplicaID, req.MaxBytes, req.MinBytes = 12, -1, fetchBytes, 1
	req.Topics = append(req.Topics, rt)
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}

// answer reads the next answer and returns the records in it.
func (c conn) answer() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 12
	if err := resp.ReadFrom(b[5:]); err != nil { // correlation id and no tags
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return nil, fmt.Errorf("fetch answered with %+v", resp)
	}
	return resp.Topics[0].Partitions[0].RecordBatches, nil
}
