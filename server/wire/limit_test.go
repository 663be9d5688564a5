package wire

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What limit.go counts on: arrays of elements that are as small as can be take at most 32 times the request, and twice that
// with the race detector, which keeps append from growing in place.
func TestAStructureTakesAtMost32TimesItsRequest(t *testing.T) {
	for key := range int16(100) {
		r := kmsg.RequestForKey(key)
		if r == nil {
			continue
		}
		for v := range r.MaxVersion() + 1 {
			for depth := range 3 {
				r := kmsg.RequestForKey(key)
				r.SetVersion(v)
				fillArrays(reflect.ValueOf(r).Elem(), depth, 2000)
				b := r.AppendTo(nil)
				if len(b) < 4000 {
					continue // no array here, or not in this version
				}
				if times := allocated(func() { decode(t, key, v, b) }) / uint64(len(b)); times > 64 {
					t.Errorf("%s version %d, arrays at depth %d: %d times", kmsg.NameForKey(key), v, depth, times)
				}
			}
		}
	}
}

func decode(t *testing.T, key, version int16, b []byte) {
	r := kmsg.RequestForKey(key)
	r.SetVersion(version)
	if err := r.ReadFrom(b); err != nil {
		t.Errorf("%s version %d: %v", kmsg.NameForKey(key), version, err)
	}
}

// fillArrays gives the arrays at a depth n zero elements, and those above one.
func fillArrays(v reflect.Value, depth, n int) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Slice || f.Type().Elem().Kind() == reflect.Uint8 {
			continue
		}
		if depth == 0 {
			f.Set(reflect.MakeSlice(f.Type(), n, n))
			continue
		}
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		if f.Type().Elem().Kind() == reflect.Struct {
			fillArrays(f.Index(0), depth-1, n)
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Counts that are not there: nothing is made of them.
func TestAnArrayThatClaimsMoreThanIsThereIsNotMade(t *testing.T) {
	body := make([]byte, 1<<20)
	for i := range body {
		body[i] = 0x7f // a length of 126, or of 2^31-ish, wherever one is read
	}
	for key := range int16(100) {
		r := kmsg.RequestForKey(key)
		if r == nil {
			continue
		}
		for v := range r.MaxVersion() + 1 {
			r := kmsg.RequestForKey(key)
			r.SetVersion(v)
			if n := allocated(func() { _ = r.ReadFrom(body) }); n > 32<<20 {
				t.Errorf("%s version %d: %d MiB for 1 MiB", kmsg.NameForKey(key), v, n>>20)
			}
		}
	}
}

func TestARequestThatIsTooLargeToDecodeClosesItsConnection(t *testing.T) {
	r := newRig(t, answering(3), answering(18))
	body := func(n int) []byte { // a Metadata request of about n bytes, all name
		name := string(make([]byte, n-16))
		req := kmsg.MetadataRequest{Version: 9, Topics: []kmsg.MetadataRequestTopic{{Topic: &name}}}
		b := req.AppendTo(nil)
		return append(append(frameHeader(3, 9, 5), 0), b...)
	}
	c := r.dial()
	c.send(body(maxBody - 64))
	if id, _ := c.receive(); id != 5 {
		t.Fatalf("answer of %d", id)
	}
	c.send(body(maxBody + 64))
	c.wantClosed("too large")
	r.dial().wantAlive("another connection")
}
