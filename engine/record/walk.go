package record

// walk goes over the records of one batch, reads the fields around keys and values, and holds what it found.
type walk struct {
	rules *Rules
	base  int64 // base timestamp
	// stamp is the timestamp of all records where the producer has set the LogAppendTime bit.
	stamp   int64
	stamped bool
	count   int32

	max     int64 // largest timestamp, -1 where none is above that
	maxAt   int32 // index of the first record that has it
	gaps    bool  // offset deltas are not 0, 1, 2, ...
	strict  bool  // which is an error
	faults  []RecordError
	badTime bool // one of faults is about a timestamp
}

func newWalk(b Batch, r *Rules) walk {
	return walk{
		rules: r, base: b.BaseTimestamp(), stamp: b.MaxTimestamp(), stamped: b.IsLogAppendTime(),
		count: b.Count(), strict: r.OrderedDeltas || b.Codec() != None,
		max: noTimestamp,
	}
}

// plain walks the records in b, which must be exactly count of them. An error is about the structure; what single
// records are refused for is in faults.
func (w *walk) plain(b []byte, count int32) error {
	i := 0
	for n := int32(0); n < count; n++ {
		if i == len(b) {
			return errorf(InvalidRecord, "Incorrect declared batch size, premature EOF reached: %d records of %d", n, count)
		}
		size, at := varint(b, i)
		if at > len(b) || size < 0 || int(size) > len(b)-at {
			return errorf(InvalidRecord, "Invalid record size: expected %d bytes in payload of record %d, but the batch has only %d left", size, n, max(len(b)-at, 0))
		}
		i = at + int(size)
		h, ok := readHead(b[:i], at)
		if !ok {
			return errorf(InvalidRecord, "Found invalid record structure in record %d", n)
		}
		w.see(n, h)
	}
	if i != len(b) {
		return errorf(InvalidRecord, "Incorrect declared batch size, records still remaining in file: %d bytes behind %d records", len(b)-i, count)
	}
	return nil
}

// head is what the walk wants to know of a record.
type head struct {
	timestampDelta int64
	offsetDelta    int32
	noKey          bool
}

// readHead reads a record that fills b from i to its end. It reports false when the parts do not add up to that.
func readHead(b []byte, i int) (h head, ok bool) {
	i++ // attributes: none is in use
	h.timestampDelta, i = varlong(b, i)
	h.offsetDelta, i = varint(b, i)
	size, i := varint(b, i)
	h.noKey = size < 0
	if size > 0 {
		i += int(size)
	}
	if size, i = varint(b, i); size > 0 {
		i += int(size)
	}
	if size, i = varint(b, i); size != 0 {
		i = skipHeaders(b, i, size)
	}
	return h, i == len(b)
}

// skipHeaders returns the position behind count headers, or len(b)+1. Each is two bytes at least, which bounds count.
func skipHeaders(b []byte, i int, count int32) int {
	if count < 0 || int(count) > len(b)-i {
		return len(b) + 1
	}
	for ; count > 0; count-- {
		var size int32
		if size, i = varint(b, i); size < 0 {
			return len(b) + 1 // the key of a header is never null
		}
		i += int(size)
		if size, i = varint(b, i); size > 0 {
			i += int(size)
		}
		if i > len(b) {
			return len(b) + 1
		}
	}
	return i
}

// see takes record n into account.
func (w *walk) see(n int32, h head) {
	ts := w.base + h.timestampDelta
	if w.stamped {
		ts = w.stamp
	}
	if h.offsetDelta != n {
		w.gap(n, h.offsetDelta)
	}
	if ts > w.max {
		w.max, w.maxAt = ts, n
	}
	r := w.rules
	if r.Compacted && h.noKey {
		w.fault(n, InvalidRecord, ts)
	} else if !r.LogAppendTime && ts != noTimestamp {
		if r.outOfRange(ts) {
			w.fault(n, InvalidTimestamp, ts)
		}
	} else if w.stamped {
		w.fault(n, InvalidTimestamp, ts)
	}
}

// gap takes an offset delta into account that is not the record's index. Only the first is named: it shifts the others.
func (w *walk) gap(n, delta int32) {
	first := !w.gaps
	w.gaps = true
	if first && w.strict || delta < 0 || delta >= w.count {
		w.note(n, errorf(InvalidRecord, "Offset delta %d of record %d of %d", delta, n, w.count))
	}
}

// note adds e to what is wrong with record n.
func (w *walk) note(n int32, e *Error) {
	if len(w.faults) < MaxRecordErrors {
		w.faults = append(w.faults, RecordError{Index: int(n), Message: e.Message})
	}
}

// fault notes what is wrong with record n.
//
//go:noinline
func (w *walk) fault(n int32, kind Kind, ts int64) {
	w.badTime = w.badTime || kind == InvalidTimestamp
	r := w.rules
	switch {
	case len(w.faults) >= MaxRecordErrors:
	case kind == InvalidRecord:
		w.note(n, errorf(kind, "Compacted topic cannot accept message without key"))
	case !r.LogAppendTime && ts != noTimestamp:
		w.note(n, errorf(kind, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
			ts, n, r.Now-r.TimestampBeforeMaxMs, r.Now+r.TimestampAfterMaxMs))
	default:
		w.note(n, errorf(kind, "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime."))
	}
}

// verdict is the error of the batch when at least one record is refused: then none is taken.
func (w *walk) verdict() error {
	if len(w.faults) == 0 {
		return nil
	}
	var e *Error
	if w.badTime {
		e = errorf(InvalidTimestamp, "One or more records have been rejected due to invalid timestamp")
	} else {
		e = errorf(InvalidRecord, "One or more records have been rejected due to %d record errors in total", len(w.faults))
	}
	e.Records = w.faults
	return e
}
