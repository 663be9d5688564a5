package server_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system of some bytes at a directory, which needs root.
func smallDisk(t *testing.T, dir string, size int) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", size))
	if err == unix.EPERM || err == unix.EACCES {
		t.Skip("mounts a small file system, which needs root")
	}
	must(t, err)
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

func TestADiskThatFillsUpRefusesAppendsAndTakesThemAgainWithoutAStart(t *testing.T) {
	const size, reserve = 48 << 20, 8 << 20
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			a, b := twoDirs(t)
			smallDisk(t, a, size)
			smallDisk(t, b, size)
			s := start(t, a+","+b, fmt.Sprint("zurau.reserve.bytes=", reserve), "log.retention.check.interval.ms=50", "metadata.log.dir="+a)
			c := s.dial()
			flush := map[string]string{"async": "9223372036854775807", "sync": "1"}[mode]
			p, other := c.inEach("t", b, "segment.bytes", "1048576", "file.delete.delay.ms", "0", "flush.messages", flush)
			value := batch(string(bytes.Repeat([]byte("x"), 100_000))).Bytes()
			fill := func() (end int64) {
				for {
					switch err := c.code("t", p, value); err {
					case nil:
					case kerr.KafkaStorageError:
						end, _ = c.end("t", p)
						return end
					default:
						t.Fatal(err)
					}
				}
			}
			end := fill()
			if least := int64(size-reserve) / 100_000 / 2; end < least {
				t.Errorf("%d records were taken, and there was room for %d", end, least)
			}
			var st unix.Statfs_t
			must(t, unix.Statfs(b, &st))
			if free := int64(st.Bavail) * st.Bsize; free < reserve-1<<20 {
				t.Errorf("%d bytes are free, and %d were to be left", free, reserve)
			}
			if got := c.leaderOf("t", p); got == offline || c.logDirs()[b] == nil {
				t.Errorf("a directory that is full is not offline: %s, %v", got, c.logDirs())
			}
			if err := c.code("t", other, value); err != nil {
				t.Errorf("the other directory: %v", err)
			}
			if got, err := c.end("t", p); got != end || err != nil {
				t.Errorf("the log ends at %d, %v, want %d", got, err, end)
			}
			fetch := fetchRequest("t", 0, 0)
			fetch.Topics[0].Partitions[0].Partition = p
			if got := ask[*kmsg.FetchResponse](c, fetch).Topics[0].Partitions[0]; got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
				t.Errorf("a read: error %d, %d bytes", got.ErrorCode, len(got.RecordBatches))
			}
			drop := &kmsg.DeleteRecordsRequest{Version: 2, TimeoutMillis: 10_000, Topics: []kmsg.DeleteRecordsRequestTopic{{
				Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: p, Offset: -1}}}}}
			if got := ask[*kmsg.DeleteRecordsResponse](c, drop).Topics[0].Partitions[0]; got.ErrorCode != 0 || got.LowWatermark != end {
				t.Fatalf("delete records: %+v, want %d", got, end)
			}
			until(func() bool { return c.code("t", p, value) == nil }) // in the retention's own time
			if got, _ := c.end("t", p); got != end+1 {
				t.Errorf("the log ends at %d, want %d", got, end+1)
			}
			end = fill()
			s.stop()
			c = start(t, a+","+b, fmt.Sprint("zurau.reserve.bytes=", reserve)).dial()
			if got, err := c.end("t", p); got != end || err != nil {
				t.Errorf("started on a full disk, the log ends at %d, %v, want %d", got, err, end)
			}
		})
	}
}
