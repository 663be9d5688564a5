package api

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestWhoInitialisesATransactionalID plays the table of raise.
func TestWhoInitialisesATransactionalID(t *testing.T) {
	const last = math.MaxInt16 - 1 // the epoch that has none after it for clients
	var ids transactionalIDs
	next := int64(100)
	fresh := func() (int64, bool) { next++; return next - 1, true }
	none := func() (int64, bool) { return -1, false }
	nobody := idAndEpoch{-1, -1}
	fenced := kerr.ProducerFenced.Code
	check := func(what string, expected idAndEpoch, fresh func() (int64, bool), want idAndEpoch, code int16, ok bool) {
		t.Helper()
		p, c, k := ids.init("id", expected, fresh)
		if k != ok || ok && (p != want || c != code) {
			t.Errorf("%s: got %v, code %d, %t; want %v, code %d, %t", what, p, c, k, want, code, ok)
		}
	}
	check("no producer id at hand", nobody, none, nobody, 0, false)
	check("a new id, whoever comes", idAndEpoch{7, 7}, fresh, idAndEpoch{100, 0}, 0, true)
	check("a new owner", nobody, none, idAndEpoch{100, 1}, 0, true)
	check("the owner before it", idAndEpoch{100, 0}, none, nobody, fenced, true)
	check("the owner goes on", idAndEpoch{100, 1}, none, idAndEpoch{100, 2}, 0, true)
	check("and asks again", idAndEpoch{100, 1}, none, idAndEpoch{100, 2}, 0, true)
	check("another producer id", idAndEpoch{99, 2}, none, nobody, fenced, true)
	check("an epoch to come", idAndEpoch{100, 5}, none, nobody, fenced, true)
	check("a negative producer id", idAndEpoch{-2, 2}, none, nobody, fenced, true)

	ids.byID["id"].Value.(*transactionalID).at.epoch = last
	check("no epoch left, no producer id at hand", idAndEpoch{100, last}, none, nobody, 0, false)
	check("no epoch left", idAndEpoch{100, last}, fresh, idAndEpoch{101, 0}, 0, true)
	check("and asks again", idAndEpoch{100, last}, none, idAndEpoch{101, 0}, 0, true)
	check("an older epoch of the old producer id", idAndEpoch{100, 3}, none, nobody, fenced, true)
	check("a new owner", nobody, none, idAndEpoch{101, 1}, 0, true)
	check("the old producer id, then", idAndEpoch{100, last}, none, nobody, fenced, true)

	ids.byID["id"].Value.(*transactionalID).at.epoch = last
	check("no epoch left for a new owner", nobody, fresh, idAndEpoch{102, 0}, 0, true)
	check("the owner before it", idAndEpoch{101, last}, none, nobody, fenced, true)
}

// TestTransactionalIDsAreForgottenForRoom: anybody may send as many as they like, of any length.
func TestTransactionalIDsAreForgottenForRoom(t *testing.T) {
	var ids transactionalIDs
	next := int64(0)
	fresh := func() (int64, bool) { next++; return next, true }
	first, _, _ := ids.init("first", idAndEpoch{-1, -1}, fresh)
	for i := range 400 {
		ids.init(strings.Repeat("x", 100_000)+fmt.Sprint(i), idAndEpoch{-1, -1}, fresh)
		if p, _, _ := ids.init("first", first, fresh); p.id != first.id {
			t.Fatal("an id that is in use was forgotten")
		}
		first, _, _ = ids.init("first", idAndEpoch{-1, -1}, fresh)
	}
	if ids.bytes > maxTransactionalBytes || len(ids.byID) != ids.order.Len() || len(ids.byID) < 100 {
		t.Errorf("%d ids of %d bytes, %d in order", len(ids.byID), ids.bytes, ids.order.Len())
	}
	ids.init(strings.Repeat("y", 2*maxTransactionalBytes), idAndEpoch{-1, -1}, fresh)
	if len(ids.byID) != 1 {
		t.Errorf("%d ids beside one that is too large", len(ids.byID)-1)
	}
}
