package index

import "github.com/zurau/zurau/engine/fs"

// Rest is what is known of an index at rest without its file: how many entries it has, and the bytes of the last one.
type Rest struct {
	Entries int32
	Last    [12]byte
}

// Rest returns what the index can be made from again by RestOffset or RestTime. It is not ok where the file has not just the
// entries that the index has, or there is none, or somebody writes it at this moment.
func (t *table) Rest() (r Rest, ok bool) {
	if !t.disk.TryLock() {
		return r, false
	}
	defer t.disk.Unlock()
	t.mu.RLock()
	defer t.mu.RUnlock()
	r.Entries = t.n
	if t.n > 0 {
		copy(r.Last[:], t.last[:t.width])
	}
	bytes := int64(t.n) * int64(t.width)
	return r, t.size == bytes && (t.act == nil || t.act.written == bytes)
}

func (t *table) rest(r Rest) {
	t.n, t.size = r.Entries, int64(r.Entries)*int64(t.width)
	copy(t.last[:], r.Last[:])
}

// RestOffset returns the index in the file name as OpenOffset does, without touching the file.
func RestOffset(fsys fs.FS, name string, baseOffset int64, maxEntries int, r Rest) *Offset {
	x := &Offset{table{fsys: fsys, name: name, base: baseOffset, max: clamp(maxEntries), width: OffsetWidth}}
	x.rest(r)
	return x
}

// RestTime is RestOffset for a time index.
func RestTime(fsys fs.FS, name string, baseOffset int64, maxEntries int, r Rest) *Time {
	x := &Time{table{fsys: fsys, name: name, base: baseOffset, max: clamp(maxEntries), width: TimeWidth}}
	x.rest(r)
	return x
}
