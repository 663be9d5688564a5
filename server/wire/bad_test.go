package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/raw"
)

// Rows of the list of bad inputs that this layer can show: 5 to 8.

func TestBadHeadersCloseTheirConnection(t *testing.T) {
	r := newRig(t, answering(0), answering(3), answering(18))
	flexible := append(frameHeader(3, 12, 1), 0) // no tags, and then the body
	for name, frame := range map[string][]byte{
		"no version":                   {0, 3},
		"no correlation id":            frameHeader(3, 1, 1)[:7],
		"no client id":                 frameHeader(3, 1, 1)[:8],
		"half a client id's length":    frameHeader(3, 1, 1)[:9],
		"a client id that is cut off":  append(frameHeader(3, 1, 1)[:8], 0, 5, 'a'),
		"a client id of length -2":     append(frameHeader(3, 1, 1)[:8], 0xff, 0xfe),
		"a client id of length -32768": append(frameHeader(3, 1, 1)[:8], 0x80, 0),
		"an unknown key":               frameHeader(9999, 0, 1),
		"a key that is not served":     frameHeader(1, 0, 1),
		"key -1":                       frameHeader(-1, 0, 1),
		"version -1":                   frameHeader(3, -1, 1),
		"version -1 of ApiVersions":    frameHeader(18, -1, 1),
		"a version that is too new":    frameHeader(3, 99, 1),
		"no tags":                      flexible[:10],
		"a tag without a size":         append(flexible[:10:10], 1, 0),
		"a tag that is cut off":        append(flexible[:10:10], 1, 0, 5, 'a'),
		"2^31 tags":                    append(flexible[:10:10], 0x80, 0x80, 0x80, 0x80, 8),
		"2^32-1 tags, all empty":       append(append(flexible[:10:10], 0xff, 0xff, 0xff, 0xff, 0xf), make([]byte, 1000)...),
		"a tag of 2^32-1 bytes":        append(flexible[:10:10], 1, 0, 0xff, 0xff, 0xff, 0xff, 0xf),
		"a number of 10 bytes":         append(flexible[:10:10], bytes.Repeat([]byte{0xff}, 10)...),
	} {
		c := r.dial()
		c.send(frame)
		c.wantClosed(name)
	}
	r.dial().wantAlive("another connection")
}

func TestUnknownTagsOfAHeaderArePassedOver(t *testing.T) {
	c := newRig(t, answering(3)).dial()
	f := append(frameHeader(3, 12, 1), 3)
	for i := range byte(3) {
		f = append(f, 100+i, 200, 1)
		f = append(f, make([]byte, 200)...)
	}
	c.send(kmsg.NewPtrMetadataRequest().AppendTo(f))
	if id, _ := c.receive(); id != 1 {
		t.Errorf("answer of %d", id)
	}
}

// A client that is newer than the broker learns what the broker has, on the same connection (KIP-511).
func TestApiVersionsThatIsTooNewIsAnsweredInVersion0(t *testing.T) {
	h := answering(18)
	r := newRig(t, h)
	for _, version := range []int16{h.Max + 1, 9, math.MaxInt16} {
		c := r.dial()
		f := append(frameHeader(18, version, 42)[:8], 0, 2, 'i', 'd', 1, 0, 3, 1, 2, 3) // a client id and a tag
		f = append(f, "\x05name\x04ver and what else newer versions may have"...)
		c.send(f)
		id, body := c.receive()
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := resp.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		if id != 42 || resp.ErrorCode != kerr.UnsupportedVersion.Code || len(resp.ApiKeys) != 1 ||
			resp.ApiKeys[0].ApiKey != 18 || resp.ApiKeys[0].MinVersion != 0 || resp.ApiKeys[0].MaxVersion != h.Max {
			t.Errorf("version %d: answer %d: %+v", version, id, resp)
		}
		c.wantAlive("after a version that is too new")
	}
}

// The header of the answer to ApiVersions has no tags, so that a client reads it whatever the version is.
func TestOnlyTheAnswerToApiVersionsHasNoTags(t *testing.T) {
	c := newRig(t, answering(3), answering(18)).dial()
	c.send(kmsg.NewPtrApiVersionsRequest().AppendTo(append(frameHeader(18, 0, 1), 0)))
	c.receive()
	api := kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "n", ClientSoftwareVersion: "1"}
	c.send(api.AppendTo(append(frameHeader(18, 3, 2), 0)))
	_, b := c.receive()
	resp := kmsg.ApiVersionsResponse{Version: 3}
	if err := resp.ReadFrom(b); err != nil {
		t.Errorf("ApiVersions: %v in %x", err, b)
	}
	metadata := kmsg.MetadataRequest{Version: 12}
	c.send(metadata.AppendTo(append(frameHeader(3, 12, 3), 0)))
	if _, b = c.receive(); b[0] != 0 {
		t.Errorf("Metadata: no empty tags in %x", b)
	}
}

// Row 6: every cut of every request, of every version, closes the connection or is answered, and nothing else happens.
func TestEveryCutOfEveryRequestClosesOrIsAnswered(t *testing.T) {
	var handlers []Handler
	for key := range int16(100) {
		if r := kmsg.RequestForKey(key); r != nil {
			handlers = append(handlers, answering(key))
		}
	}
	table := NewTable(handlers...)
	for _, h := range handlers {
		for v := range h.Max + 1 {
			req := kmsg.RequestForKey(h.Key)
			req.SetVersion(v)
			whole := kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 5)[4:]
			for n := range whole {
				hd, err := peek(whole[:n])
				if err != nil {
					continue
				}
				body, err := hd.rest(whole[:n], v >= table.byKey[h.Key].flexible, nil)
				if err != nil {
					continue
				}
				into := kmsg.RequestForKey(h.Key)
				into.SetVersion(v)
				if err := into.ReadFrom(body); err == nil && n < len(whole)-1 && !into.IsFlexible() {
					t.Errorf("%s version %d of %d bytes is decoded from %d", kmsg.NameForKey(h.Key), v, len(whole), n)
				}
			}
		}
	}
}

func TestWhatWasSentBehindABadRequestDoesNotStart(t *testing.T) {
	produce, produced := gated(0, true)
	metadata, asked := gated(3, false)
	r := newRig(t, produce, metadata, answering(18))
	c := r.dial()
	c.send(frameHeader(0, 0, 1), frameHeader(3, 99, 2), frameHeader(3, 0, 3), frameHeader(0, 0, 4))
	answer(<-produced)
	if id, _ := c.receive(); id != 1 {
		t.Errorf("answer of %d", id)
	}
	c.wantClosed("a bad request") // once what was before it is answered
	if len(asked) != 0 || len(produced) != 0 {
		t.Error("a request behind a bad one has started")
	}
	if !strings.Contains(r.log.String(), "served in versions 0 to 3, not 99") {
		t.Errorf("the log does not say why: %s", r.log)
	}
}

func TestAnErrorOfAHandlerClosesItsConnection(t *testing.T) {
	r := newRig(t, answering(18), Handler{Key: 3, Serve: func(*Request) error { return errors.New("no") }})
	c := r.dial()
	c.send(frameHeader(3, 0, 1))
	c.wantClosed("an error")
	r.dial().wantAlive("another connection")
}

func TestAHandlerThatPanicsLosesItsConnectionAlone(t *testing.T) {
	boom := func(*Request) error { panic("boom") }
	gate, started := gated(0, true)
	r := newRig(t, answering(18), gate,
		Handler{Key: 1, Overlaps: true, Serve: boom}, Handler{Key: 3, Serve: boom}, Handler{Key: 19, Serve: boom, Blocks: true})
	other := r.dial()
	for _, key := range []int16{1, 3, 19} {
		c := r.dial()
		c.send(frameHeader(key, 0, 1))
		c.wantClosed("a panic")
		c = r.dial() // and where it had to wait for its turn
		c.send(frameHeader(0, 0, 1), frameHeader(3, 0, 2))
		(<-started).Skip()
		c.wantClosed("a panic after a wait")
	}
	other.wantAlive("another connection")
	if n := strings.Count(r.log.String(), "handler panicked"); n != 6 {
		t.Errorf("%d panics in the log, want 6", n)
	}
}

func TestAConnectionThatClosesTellsThoseWhoWait(t *testing.T) {
	told := make(chan struct{})
	waits := make(chan *Request, 1)
	h := Handler{Key: 0, Overlaps: true, Serve: func(r *Request) error {
		if !r.OnClose(func() { r.Skip(); close(told) }) {
			t.Error("the connection is closed before it is")
		}
		waits <- r
		return nil
	}}
	r := newRig(t, h, answering(18))
	c := r.dial()
	c.send(frameHeader(0, 0, 1), frameHeader(18, 0, 2))
	q := <-waits
	q.conn.nc.Close()
	<-told
	c.wantClosed("closed")
	if q.OnClose(func() { t.Error("told twice") }) {
		t.Error("a connection that is closed takes somebody on")
	}
}

func TestWhoWasAnsweredIsNotTold(t *testing.T) {
	ended := make(chan struct{})
	h := Handler{Key: 0, Overlaps: true, Serve: func(r *Request) error {
		if r.correlation == 1 {
			r.OnClose(func() { t.Error("told of the end after the answer") })
		} else {
			r.OnClose(func() { r.Skip(); close(ended) })
			r.conn.nc.Close()
			return nil
		}
		answer(r)
		return nil
	}}
	c := newRig(t, h).dial()
	c.send(frameHeader(0, 0, 1))
	c.receive()
	c.send(frameHeader(0, 0, 2))
	<-ended
}

// Row 1 and A20: what is no Kafka at all.
func TestGarbageAtTheFrontDoorClosesTheConnection(t *testing.T) {
	r := newRig(t, answering(3), answering(18))
	for name, b := range map[string][]byte{
		"HTTP":                    []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"a TLS hello":             append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 500)...),
		"size 2^31-1":             {0x7f, 0xff, 0xff, 0xff},
		"size -1":                 {0xff, 0xff, 0xff, 0xff},
		"size -2^31":              {0x80, 0, 0, 0},
		"size 0":                  {0, 0, 0, 0},
		"size 1":                  {0, 0, 0, 1, 0},
		"2^31-1 topics":           raw.Sized(binary.BigEndian.AppendUint32(frameHeader(3, 1, 1), math.MaxInt32)),
		"2^32-2 topics":           raw.Sized(append(frameHeader(3, 9, 1), 0, 0xff, 0xff, 0xff, 0xff, 0xf)),
		"a count of 10 bytes":     raw.Sized(append(append(frameHeader(3, 9, 1), 0), bytes.Repeat([]byte{0xff}, 10)...)),
		"2^31 tags behind a body": raw.Sized(append(frameHeader(3, 9, 1), 0, 1, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 8)),
	} {
		c := r.dial()
		var err error
		grown := allocated(func() {
			if _, err = c.Write(b); err == nil {
				c.wantClosed(name)
			}
		})
		if err != nil && !raw.Closed(err) {
			t.Errorf("%s: %v", name, err)
		}
		if grown > 10<<20 {
			t.Errorf("%s took %d MiB", name, grown>>20)
		}
	}
	r.dial().wantAlive("another connection")
}
