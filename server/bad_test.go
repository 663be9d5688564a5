package server_test

import (
	"encoding/binary"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/raw"
)

// served lists the APIs that a broker says it serves.
func (c client) served() []kmsg.ApiVersionsResponseApiKey {
	c.t.Helper()
	return ask[*kmsg.ApiVersionsResponse](c, &kmsg.ApiVersionsRequest{}).ApiKeys
}

// sample is a request of a version in which every field and every array has something, which nobody has to wait for.
func sample(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	fill(reflect.ValueOf(req).Elem())
	req.SetVersion(version)
	return req
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("t")
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func frameOf(req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 7)[4:]
}

// Row 6: a cut anywhere in a request of any API closes its connection, or is answered, and the broker goes on.
func TestEveryCutOfEveryRequestClosesOrIsAnswered(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	var cuts [][]byte
	for _, k := range c.served() {
		for _, version := range []int16{k.MinVersion, (k.MinVersion + k.MaxVersion) / 2, k.MaxVersion} {
			frame := frameOf(sample(k.ApiKey, version))
			for n := 1; n < len(frame); n++ {
				cut := binary.BigEndian.AppendUint32(nil, uint32(n))
				cuts = append(cuts, append(cut, frame[:n]...))
			}
		}
	}
	next := make(chan []byte)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for cut := range next {
				if err := sendAndEnd(b.Addrs()[0].String(), cut); err != nil {
					t.Errorf("key %d, version %d, %d bytes: %v", cut[5], cut[7], len(cut)-4, err)
				}
			}
		})
	}
	for _, cut := range cuts {
		next <- cut
	}
	close(next)
	clients.Wait()
	c.create("still-here", 1)
	if strings.Contains(b.log.String(), "panicked") {
		t.Errorf("the log: %s", b.log)
	}
}

// sendAndEnd sends bytes, and reads until the broker has nothing to say any more.
func sendAndEnd(addr string, b []byte) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	c.(*net.TCPConn).SetLinger(0) // thousands of connections: none stays in TIME_WAIT
	if _, err := c.Write(b); err != nil {
		return nil // closed already
	}
	c.(*net.TCPConn).CloseWrite()
	var buf [4096]byte
	for {
		if _, err := c.Read(buf[:]); err != nil {
			if raw.Closed(err) {
				return nil
			}
			return err
		}
	}
}

// Whole requests in which nothing makes much sense are answered, or close, and nothing else.
func TestRequestsOfNonsenseAreAnswered(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	for _, k := range c.served() {
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			one := b.dial()
			one.send(sample(k.ApiKey, version))
			if _, err := one.read(); err != nil && !raw.Closed(err) {
				t.Errorf("%s version %d: %v", kmsg.NameForKey(k.ApiKey), version, err)
			}
			one.Close()
		}
	}
	c.create("still-here", 1)
	if strings.Contains(b.log.String(), "panicked") {
		t.Errorf("the log: %s", b.log)
	}
}

// A20: many small elements, counts that are not there, a body of nothing but tags: memory stays within what limit.go of
// server/wire says, and comes back.
func TestLargeRequestsDoNotTakeTheMemory(t *testing.T) {
	b := start(t, t.TempDir())
	c := b.dial()
	c.create("t", 1)
	large := func(key, version int16, size int, unit []byte, count func(int) []byte) []byte {
		f := frameOf(sample(key, version))
		head := 4 + 4 + 2 + 1 // up to the client id
		if kmsgFlexible(key, version) {
			head++
		}
		f = append(f[:head:head], count(size/len(unit))...)
		for len(f) < size {
			f = append(f, unit...)
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(f))), f...)
	}
	classic := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	compact := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)+1) }
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for what, f := range map[string][]byte{
		"Metadata of empty names":      large(3, 1, 2<<20, []byte{0, 0}, classic),
		"Metadata above the limit":     large(3, 1, 20<<20, []byte{0, 0}, classic),
		"Metadata that claims 2^31-1":  large(3, 1, 2<<20, []byte{0, 0}, func(int) []byte { return classic(1<<31 - 1) }),
		"CreateTopics of zeros":        large(19, 5, 2<<20, []byte{0, 0, 0, 0}, compact),
		"DeleteTopics of empty names":  large(20, 4, 2<<20, []byte{1}, compact),
		"OffsetFetch of zeros":         large(9, 8, 2<<20, []byte{1, 1, 0, 0}, compact),
		"Produce of empty topics":      large(0, 9, 2<<20, []byte{1, 1, 0}, func(int) []byte { return append([]byte{0, 0, 1, 0, 0, 0, 0}, compact(2<<20/3)...) }),
		"Fetch of zeros":               large(1, 12, 4<<20, []byte{0}, func(int) []byte { return append(make([]byte, 25), compact(1<<20)...) }),
		"FindCoordinator of only tags": large(10, 4, 2<<20, []byte{0x80, 1, 0}, func(n int) []byte { return append([]byte{0, 1}, binary.AppendUvarint(nil, uint64(n))...) }),
	} {
		if err := sendAndEnd(b.Addrs()[0].String(), f); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		c.put("t", 0, batch("v")) // others are served
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; grown > 50 {
		t.Errorf("%d MiB stay", grown)
	}
	if grown := (int64(after.HeapSys) - int64(before.HeapSys)) >> 20; grown > 500 {
		t.Errorf("%d MiB were taken", grown)
	}
}

func kmsgFlexible(key, version int16) bool {
	r := kmsg.RequestForKey(key)
	r.SetVersion(version)
	return r.IsFlexible()
}
