package server_test

import (
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzFrames sends bytes to a broker as one connection's: two frames, the second cut off where the input ends. Whatever
// comes, the broker answers or closes, takes no memory that stays, and serves the next client. Waits of fetches and of members
// are as long as the input says, so the connection goes away after the input.
func FuzzFrames(f *testing.F) {
	b := start(f, f.TempDir(), "offsets.topic.num.partitions=1", "group.min.session.timeout.ms=1")
	c := b.dial()
	c.create("t", 1)
	for _, k := range c.served() {
		for _, version := range []int16{k.MinVersion, k.MaxVersion} {
			f.Add(frameOf(sample(k.ApiKey, version)), []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff})
		}
	}
	f.Add(frameOf(produceRequest("t", 0, -1, batch("v").Bytes())), sizedFrame(frameOf(fetchRequest("t", 0, time.Second))))
	f.Fuzz(func(t *testing.T, frame, rest []byte) {
		one, err := net.Dial("tcp", b.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		one.(*net.TCPConn).SetLinger(0)
		one.Write(append(sizedFrame(frame), rest...))
		other := dial(t, b.Server)
		other.Conn.(*net.TCPConn).SetLinger(0)
		defer other.Close()
		if got := ask[*kmsg.ApiVersionsResponse](other, &kmsg.ApiVersionsRequest{}); got.ErrorCode != 0 {
			t.Fatalf("another client: error %d", got.ErrorCode)
		}
		if strings.Contains(b.log.String(), "panicked") {
			t.Fatalf("the log: %s", b.log)
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > 1<<30 {
			t.Fatalf("%d MiB are in use", m.HeapAlloc>>20)
		}
	})
}

func sizedFrame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}
