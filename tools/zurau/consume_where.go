package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// where is a place in every partition: what --from and --to say.
type where struct {
	kind whereKind
	n    int64 // offset, time in ms, or how many records before the end
}

type whereKind int

const (
	whereStart whereKind = iota
	whereEnd
	whereOffset
	whereTime
	whereTail
)

// whereHelp stands in the help of both flags.
const whereHelp = "start, end, an offset, -N (N records before the end), a time (2026-01-31T12:00:00Z, or 1769860800000ms)"

func parseWhere(flag, s string) (where, error) {
	switch s {
	case "start":
		return where{kind: whereStart}, nil
	case "end":
		return where{kind: whereEnd}, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 {
			return where{whereTail, -n}, nil
		}
		return where{whereOffset, n}, nil
	}
	if ms, ok := strings.CutSuffix(s, "ms"); ok {
		if n, err := strconv.ParseInt(ms, 10, 64); err == nil && n >= 0 {
			return where{whereTime, n}, nil
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil && t.UnixMilli() >= 0 {
		return where{whereTime, t.UnixMilli()}, nil
	}
	return where{}, usagef("--%s %q: want %s", flag, s, whereHelp)
}

// resolve returns the offset of the place in each partition, between the log's start and its end. For a time that no
// record has reached it is the end.
func (w where) resolve(ctx context.Context, cl *kgo.Client, topic string, partitions []int32, committed bool) (map[int32]int64, error) {
	if w.kind == whereStart {
		return listOffsets(ctx, cl, topic, partitions, atStart, committed)
	}
	ends, err := listOffsets(ctx, cl, topic, partitions, atEnd, committed)
	if err != nil || w.kind == whereEnd {
		return ends, err
	}
	at := int64(atStart)
	if w.kind == whereTime {
		at = w.n
	}
	found, err := listOffsets(ctx, cl, topic, partitions, at, committed)
	if err != nil {
		return nil, err
	}
	for p, end := range ends {
		o := found[p]
		switch w.kind {
		case whereOffset:
			o = max(o, w.n)
		case whereTail:
			o = max(o, end-w.n)
		case whereTime:
			if o < 0 {
				o = end
			}
		}
		ends[p] = min(o, end)
	}
	return ends, nil
}

// start returns the place as the client knows it, for partitions in which a group has committed nothing.
func (w where) start() kgo.Offset {
	switch o := kgo.NewOffset(); w.kind {
	case whereEnd:
		return o.AtEnd()
	case whereOffset:
		return o.At(w.n)
	case whereTail:
		return o.AtEnd().Relative(-w.n)
	case whereTime:
		return o.AfterMilli(w.n)
	default:
		return o.AtStart()
	}
}
