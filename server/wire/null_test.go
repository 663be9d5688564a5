package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lists returns the lists of a structure, each set to one element, and so on inside of these.
func lists(v reflect.Value, path string) (all []listField) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "UnknownTags" && f.Name != "Version" {
				all = append(all, lists(v.Field(i), path+"."+f.Name)...)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil // bytes, of which kmsg says itself whether they may be null
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if d := v.Index(0).Addr().MethodByName("Default"); d.IsValid() {
			d.Call(nil)
		}
		all = append(append(all, listField{path, v}), lists(v.Index(0), path)...)
	}
	return all
}

type listField struct {
	path string
	reflect.Value
}

// with returns the request's body while the list has another value.
func (l listField) with(req kmsg.Request, v reflect.Value) []byte {
	full := reflect.ValueOf(l.Interface())
	l.Set(v)
	defer l.Set(full)
	return req.AppendTo(nil)
}

// nulls returns, for each list of a request of that version, the body with null in its place, and whether that is allowed.
func nulls(key, version int16, visit func(path string, body []byte, allowed bool)) {
	req := kmsg.RequestForKey(key)
	req.SetVersion(version)
	if d, ok := req.(interface{ Default() }); ok {
		d.Default()
	}
	for _, l := range lists(reflect.ValueOf(req).Elem(), "") {
		full := req.AppendTo(nil)
		empty := l.with(req, reflect.MakeSlice(l.Type(), 0, 0))
		null := l.with(req, reflect.Zero(l.Type()))
		if bytes.Equal(full, empty) {
			continue // not of this version
		}
		if !bytes.Equal(null, empty) {
			visit(l.path, null, true)
			continue
		}
		at := 0
		for full[at] == empty[at] {
			at++
		}
		if !req.IsFlexible() {
			at -= 3 // 00 00 00 01 is the length of one
			copy(null[at:], []byte{0xff, 0xff, 0xff, 0xff})
		} else {
			null[at] = 0
		}
		visit(l.path, null, false)
	}
}

// Every list of every request that may be null is taken so, and every other one is refused.
func TestAListThatMustNotBeNullIsRefusedWhereItIs(t *testing.T) {
	refused, taken := 0, 0
	for key := range int16(100) {
		req := kmsg.RequestForKey(key)
		if req == nil || key == 63 { // BrokerHeartbeat: its lists are in tags, which are left out where they are empty
			continue
		}
		for v := range req.MaxVersion() + 1 {
			nulls(key, v, func(path string, body []byte, allowed bool) {
				r := Request{Key: key, Version: v, Body: body}
				err := r.Decode(kmsg.RequestForKey(key))
				if allowed && err != nil || !allowed && !errors.Is(err, errNullList) {
					t.Errorf("%s version %d, null for %s, allowed %v: %v", kmsg.NameForKey(key), v, path, allowed, err)
				}
				if allowed {
					taken++
				} else {
					refused++
				}
			})
		}
	}
	if refused < 500 || taken < 50 {
		t.Errorf("only %d lists that must not be null, and %d that may, were tried", refused, taken)
	}
}

// A body as clients write it is never refused, whatever it has.
func FuzzDecode(f *testing.F) {
	for key := range int16(100) {
		if req := kmsg.RequestForKey(key); req != nil {
			for _, v := range []int16{0, req.MaxVersion()} {
				nulls(key, v, func(_ string, body []byte, _ bool) { f.Add(key, v, body) })
			}
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || version < 0 || version > req.MaxVersion() || len(body) > inlineBody {
			return
		}
		r := Request{Key: key, Version: version, Body: body}
		if r.Decode(req) != nil {
			return
		}
		r.Body = req.AppendTo(nil)
		again := kmsg.RequestForKey(key)
		if err := r.Decode(again); err != nil {
			t.Fatalf("%s version %d, written again: %v", kmsg.NameForKey(key), version, err)
		}
		if !bytes.Equal(again.AppendTo(nil), r.Body) {
			t.Fatalf("%s version %d is read differently when it is written again", kmsg.NameForKey(key), version)
		}
	})
}
