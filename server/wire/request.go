package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/netio"
)

// A Request is one request of a client. It is answered once, by Reply, Send or Skip, from any goroutine; it must not be
// touched afterwards.
type Request struct {
	Key, Version int16
	ClientID     *string // nil: none
	// Body is what follows the header. It is valid until Serve returns; Keep makes it last until the answer.
	Body []byte

	conn        *Conn
	entry       *entry
	slot        *netio.Slot
	correlation int32
	overlaps    bool
	held        bool // its start goes on after Serve
	kept        bool // Body is a copy

	stats *KeyStats // nil: nothing is counted
	began time.Time // where it is counted
}

// Conn returns the connection that the request came by.
func (r *Request) Conn() *Conn { return r.conn }

// Listener returns the name of the listener that the client came by.
func (r *Request) Listener() string { return r.conn.nc.Listener() }

// Host returns the client's address as Kafka shows it: with a slash before it, without the port.
func (r *Request) Host() string {
	host, _, err := net.SplitHostPort(r.conn.nc.RemoteAddr().String())
	if err != nil {
		host = r.conn.nc.RemoteAddr().String()
	}
	return "/" + host
}

// Client returns the client id, "" where there is none.
func (r *Request) Client() string {
	if r.ClientID == nil {
		return ""
	}
	return *r.ClientID
}

// Flexible reports whether the request's version has tagged fields.
func (r *Request) Flexible() bool { return r.entry != nil && r.Version >= r.entry.flexible }

// Decode parses the body into a request structure. Its error closes the connection, as Kafka does: the body ends too early, a
// number of elements is more than it has bytes for, or a list is null that must not be.
func (r *Request) Decode(into kmsg.Request) error {
	if len(r.Body) > inlineBody {
		r.conn.table.large.Lock()
		defer r.conn.table.large.Unlock()
	}
	into.SetVersion(r.Version)
	err := into.ReadFrom(r.Body)
	if err == nil && nullList(r.Body, into) {
		err = errNullList
	}
	if err != nil {
		return fmt.Errorf("%s version %d of %d bytes: %w", kmsg.NameForKey(r.Key), r.Version, len(r.Body), err)
	}
	return nil
}

// Keep copies the body, so that it lasts until the answer.
func (r *Request) Keep() {
	if !r.kept {
		r.Body, r.kept = bytes.Clone(r.Body), true
	}
}

// Hold keeps requests that follow on the connection from starting until Started, for one that is not done with its
// start when Serve returns. It is called in Serve, of a handler that overlaps.
func (r *Request) Hold() {
	r.Keep()
	r.held = true
}

// Started lets the requests that follow start: see Hold.
func (r *Request) Started() { r.conn.started(r) }

// OnClose has f called if the connection closes before the request is answered, for one that waits for long; f may answer
// into the void, which ends the request. It returns false, and f is not called, where that has happened already.
func (r *Request) OnClose(f func()) bool {
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.onClose == nil {
		c.onClose = map[*Request]func(){}
	}
	c.onClose[r] = f
	return true
}

// Reply answers with a response structure, in the request's version.
func (r *Request) Reply(resp kmsg.Response) {
	resp.SetVersion(r.Version)
	if r.stats != nil {
		r.stats.count(r.stats.codes, reflect.ValueOf(resp).Elem())
	}
	r.reply(resp)
}

// Failed counts an error code of an answer that Send sends.
func (r *Request) Failed(code int16) {
	if r.stats != nil {
		r.stats.failed(code)
	}
}

// reply answers with a response structure in the version that it has.
func (r *Request) reply(resp kmsg.Response) {
	h := GetHead()
	h.B = resp.AppendTo(r.AppendHeader(h.B))
	r.Send(netio.Response{Head: h.B, Release: h.Release})
}

// replyTooNew answers an ApiVersions request of a version that is not served in version 0, with the range that is
// (KIP-511).
func (r *Request) replyTooNew() {
	e := r.conn.table.byKey[apiVersions]
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = e.Key, e.Min, e.Max
	resp.ApiKeys = append(resp.ApiKeys, k)
	r.reply(resp)
}

// AppendHeader appends the start of the answer; Send fills in its size.
func (r *Request) AppendHeader(b []byte) []byte {
	return appendHeader(b, r.correlation, r.Flexible() && r.Key != apiVersions)
}

// Send answers with bytes that start with what AppendHeader gave, and with parts that follow them.
func (r *Request) Send(resp netio.Response) {
	size := len(resp.Head) - 4
	for i := range resp.Parts {
		if p := &resp.Parts[i]; p.Bytes != nil {
			size += len(p.Bytes)
		} else {
			size += p.Size
		}
	}
	binary.BigEndian.PutUint32(resp.Head, uint32(size))
	if r.stats != nil {
		r.stats.ended(r.began, size+4)
	}
	slot, conn := r.slot, r.conn
	slot.Complete(resp)
	conn.finished(r)
}

// Skip ends a request that has no answer (acks=0).
func (r *Request) Skip() {
	if r.stats != nil {
		r.stats.ended(r.began, 0)
	}
	r.slot.Skip()
	r.conn.finished(r)
}

// Abort closes the connection, after the answers of the requests before this one. Those after it do not start.
func (r *Request) Abort(err error) {
	r.conn.log.Info("closing a connection", "client", r.conn.nc.RemoteAddr(), "error", err)
	r.conn.end()
	r.slot.Abort()
	r.conn.finished(r)
}
