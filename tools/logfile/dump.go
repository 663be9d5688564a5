package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/index"
	"github.com/zurau/zurau/engine/record"
)

// ErrDamaged is returned by Dump where a file is not whole; the items say where.
var ErrDamaged = errors.New("damaged")

// Dump gives what is in files. The zero value gives batches without their records.
type Dump struct {
	Records bool // give the records of batches too
	// ValueBytes is how much of keys and values is printed; 0: all. JSON always has all.
	ValueBytes int
	// Give takes each Item; an error of it ends the dump.
	Give func(Item) error
	// Progress, if not nil, is told how many more bytes were read.
	Progress func(bytes int64)
}

// Path gives what is in a file, or in all files of a directory and those below it, in the order of their names.
func (d *Dump) Path(path string) error {
	var damaged error
	err := Walk(path, func(name string, size int64) error {
		err := d.file(name, size)
		if errors.Is(err, ErrDamaged) {
			damaged = ErrDamaged
			return nil
		}
		return err
	})
	return errors.Join(err, damaged)
}

// Walk visits path if it is a file, else the regular files in and below it. Below, files that nothing is known of are
// left out.
func Walk(path string, visit func(name string, size int64) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return visit(path, info.Size())
	}
	return filepath.WalkDir(path, func(name string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if kind, _ := KindOf(name); kind == Unknown {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err != nil {
			return err
		}
		return visit(name, info.Size())
	})
}

// file gives what is in one file.
func (d *Dump) file(name string, size int64) error {
	kind, base := KindOf(name)
	if kind == Unknown {
		return fmt.Errorf("%s: not the name of a segment, index, snapshot, checkpoint or any other file of a log directory", name)
	}
	if err := d.Give(FileItem{"file", name, kind, size}); err != nil {
		return err
	}
	if kind == Batches {
		return d.batches(name, size, base)
	}
	b, err := readFile(name)
	if err != nil {
		return err
	}
	if d.Progress != nil {
		d.Progress(int64(len(b)))
	}
	switch kind {
	case OffsetIndex:
		return d.entries(b, offsetWidth, func(e []byte) Item {
			x := offsetEntryOf(e, base)
			return OffsetIndexItem{"offset", x.offset, x.position}
		})
	case TimeIndex:
		return d.entries(b, timeWidth, func(e []byte) Item {
			x := timeEntryOf(e, base)
			return TimeIndexItem{"time", x.timestamp, x.offset}
		})
	case TxnIndex:
		return d.entries(b, txnWidth, func(e []byte) Item {
			version, x := index.ParseAbortedTxn(e)
			return TxnIndexItem{"aborted", version, x.ProducerID, x.FirstOffset, x.LastOffset, x.LastStableOffset}
		})
	case Guard:
		return d.guard(b, base)
	case ProducerSnapshot:
		return d.snapshot(b)
	case MetadataLog:
		return d.metadataLog(b)
	case MetadataSnapshot:
		return d.metadataSnapshot(b)
	}
	return d.small(kind, name, b)
}

// bad gives a bad part of a file.
func (d *Dump) bad(position, bytes int64, reason error) error {
	if err := d.Give(BytesItem{Type: "bytes", Position: position, Bytes: bytes, Error: reason.Error()}); err != nil {
		return err
	}
	return ErrDamaged
}

// entries gives those of an index.
func (d *Dump) entries(b []byte, width int, item func([]byte) Item) error {
	whole := withoutZeros(b, width)
	if len(b) == width {
		whole = b // one entry of zeros is an entry
	}
	for at := 0; at < len(whole); at += width {
		if err := d.Give(item(whole[at : at+width])); err != nil {
			return err
		}
	}
	ahead := len(b) - len(b)%width
	if ahead > len(whole) {
		if err := d.Give(BytesItem{Type: "bytes", Position: int64(len(whole)), Bytes: int64(ahead - len(whole)), Zeros: true}); err != nil {
			return err
		}
	}
	if ahead < len(b) {
		return d.bad(int64(ahead), int64(len(b)-ahead), fmt.Errorf("less than an entry of %d bytes", width))
	}
	return nil
}

// batches gives those of a segment.
func (d *Dump) batches(name string, size, base int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	damaged := false
	err = Scan(f, size, base, func(s Span) error {
		if d.Progress != nil {
			d.Progress(s.End - s.Position)
		}
		damaged = damaged || s.Err != nil && !s.Zeros
		switch {
		case s.Batch != nil:
			if err := d.Give(batchItem(s)); err != nil || !d.Records || s.Err != nil {
				return err
			}
			bad, err := d.records(s.Batch)
			damaged = damaged || bad
			return err
		case s.Zeros:
			return d.Give(BytesItem{Type: "bytes", Position: s.Position, Bytes: s.End - s.Position, Zeros: true})
		}
		return d.Give(BytesItem{Type: "bytes", Position: s.Position, Bytes: s.End - s.Position, Error: s.Err.Error()})
	})
	if err == nil && damaged {
		err = ErrDamaged
	}
	return err
}

// records gives those of a batch.
func (d *Dump) records(b record.Batch) (bad bool, err error) {
	for r, rerr := range b.Records(0) {
		if rerr != nil {
			return true, d.Give(BytesItem{Type: "bytes", Position: b.BaseOffset(), Error: "records: " + rerr.Error()})
		}
		item := RecordItem{Type: "record", Offset: r.Offset, Timestamp: r.Timestamp, Key: dataOf(r.Key), Value: dataOf(r.Value), most: d.ValueBytes}
		for _, h := range r.Headers {
			item.Headers = append(item.Headers, HeaderItem{h.Key, dataOf(h.Value)})
		}
		if b.IsControl() {
			item.Marker = markerOf(b)
		}
		if err := d.Give(item); err != nil {
			return false, err
		}
	}
	return false, nil
}

func markerOf(b record.Batch) string {
	switch m, ok := b.EndTxn(); {
	case !ok:
		return ""
	case m.Commit:
		return "commit"
	default:
		return "abort"
	}
}
