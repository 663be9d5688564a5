package logfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/replication/metadata"
)

// dump returns what Dump gives, as text and as JSON.
func (f *fixture) dump(name string) (text string, objects []map[string]any, err error) {
	d := Dump{Records: true, ValueBytes: 20, Give: func(i Item) error {
		text += i.String() + "\n"
		b, err := json.Marshal(i)
		must(f.t, err)
		var o map[string]any
		must(f.t, json.Unmarshal(b, &o))
		objects = append(objects, o)
		return nil
	}}
	err = d.Path(filepath.Join(f.root, name))
	return strings.ReplaceAll(text, f.root+"/", ""), objects, err
}

func TestDumpPrintsOneLineForEachThing(t *testing.T) {
	f := newFixture(t)
	for name, want := range map[string]string{
		firstLog: `orders-0/00000000000000000000.log: record batches, 754 bytes
position 0 batch of 124 bytes offsets 0 to 2 count 3 epoch 0 codec none CreateTime 1000 to 1002 producer 5 epoch 0 sequences 0 to 2 crc `,
		"orders-0/00000000000000000000.index": `orders-0/00000000000000000000.index: offset index, 24 bytes
offset 5 position 124
`,
		"orders-0/00000000000000000000.timeindex": `orders-0/00000000000000000000.timeindex: time index, 36 bytes
timestamp 1005 offset 5
`,
		"orders-0/00000000000000000000.txnindex": `orders-0/00000000000000000000.txnindex: transaction index, 34 bytes
aborted: producer 7 offsets 6 to 12 last stable offset 13 version 0
`,
		"orders-0/00000000000000000015.snapshot": `orders-0/00000000000000000015.snapshot: producer snapshot, 102 bytes
producer 5 epoch 0 last sequence 7 last offset 14 delta 1 timestamp 1014 coordinator epoch -1 open transaction from -1
producer 7 epoch 0 last sequence 5 last offset 11 delta 2 timestamp 1012 coordinator epoch 0 open transaction from -1
`,
		"recovery-point-offset-checkpoint": "recovery-point-offset-checkpoint: offset checkpoint, 16 bytes\norders-0 offset 18\n",
		"orders-0/leader-epoch-checkpoint": "orders-0/leader-epoch-checkpoint: leader epochs, 13 bytes\nepoch 0 from offset 0\nepoch 1 from offset 18\n",
		"orders-0/partition.metadata":      "orders-0/partition.metadata: partition metadata, 43 bytes\ntopic id AQIDAAAAAAAAAAAAAAAAAA\n",
	} {
		text, _, err := f.dump(name)
		must(t, err)
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, want)
		}
	}
	text, _, err := f.dump(firstLog)
	must(t, err)
	for _, want := range []string{
		"  offset 4 timestamp 1004 key \"k4\" value \"value 4\" header \"h\"=0x00ff\n", // from a compressed batch
		"codec gzip", "codec snappy", "codec lz4", "transactional control", "  offset 12 timestamp 1012 marker abort\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestDumpOfADirectoryGivesAllItsFiles(t *testing.T) {
	f := newFixture(t)
	_, objects, err := f.dump("")
	must(t, err)
	n := map[any]int{}
	for _, o := range objects {
		n[o["type"]]++
	}
	for kind, want := range map[string]int{"file": 14, "batch": 11, "record": 30, "offset": 5, "time": 5, "aborted": 1, "producer": 4, "checkpoint": 2, "epoch": 2, "value": 4} {
		if n[kind] != want {
			t.Errorf("%d of type %s, want %d", n[kind], kind, want)
		}
	}
}

func TestDumpGoesOnBehindABadBatch(t *testing.T) {
	f := newFixture(t)
	f.change(firstLog, func(b []byte) []byte { b[f.positions[3]+8] = 0x7f; return b }) // a length that ends nowhere
	text, objects, err := f.dump(firstLog)
	if !errors.Is(err, ErrDamaged) {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(text, "position 124 149 bytes BAD: ") || objects[len(objects)-1]["offset"] != 14.0 {
		t.Error(text)
	}
}

func TestDataIsPrintedAsTextOrHexadecimalAndCut(t *testing.T) {
	for in, want := range map[string]string{
		"":                 `""`,
		"plain":            `"plain"`,
		"tab\tand\nli":     `"tab\tand\nli"`,
		"\x00\x01":         "0x0001",
		"\xff":             "0xff",
		"0123456789abc":    `"0123456789"... of 13 bytes`,
		"012345678\u00e9z": `"012345678"... of 12 bytes`, // the character at the cut is left out
	} {
		if got := dataOf([]byte(in)).print(10); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := dataOf(nil).print(10); got != "null" {
		t.Error(got)
	}
}

func TestTheMetadataLogIsDumpedAndItsDamageTold(t *testing.T) {
	dir := t.TempDir()
	m, err := metadata.Open(metadata.Options{Dir: dir})
	must(t, err)
	id, err := metadata.NewID(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	must(t, err)
	for _, topic := range []string{"orders", "users"} {
		id[0]++
		must(t, m.Update(t.Context(), func(*metadata.Image) ([]metadata.Record, error) {
			return []metadata.Record{metadata.TopicRecord{ID: id, Name: topic}}, nil
		}))
	}
	must(t, m.Close())
	f := &fixture{t: t, root: dir}
	text, _, err := f.dump(metadataLogName)
	must(t, err)
	if !strings.Contains(text, "header") || !strings.Contains(text, "Name:orders") || !strings.Contains(text, "\n  Topic {ID:") {
		t.Error(text)
	}
	if problems := f.verify(); len(problems) > 0 {
		t.Error(problems)
	}
	whole := f.read(metadataLogName)
	f.write(metadataLogName, whole[:len(whole)-3])
	if p := f.verify(); len(p) != 1 || !p[0].Torn {
		t.Errorf("a cut: %v", p)
	}
	at := bytes.Index(whole, []byte("orders"))
	whole[at] = 'O'
	f.write(metadataLogName, whole)
	if p := f.verify(); len(p) != 1 || p[0].Torn {
		t.Errorf("a changed byte before later writes: %v", p)
	}
}

// FuzzScan: the spans of any file tile it, and what is called good is.
func FuzzScan(f *testing.F) {
	b := record.NewBuilder(record.None).Add(1, []byte("k"), []byte("v")).Bytes()
	f.Add([]byte(b))
	f.Add(append(append(append([]byte{}, b...), 1, 2, 3), b...))
	f.Add(append(append([]byte{}, b...), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, file []byte) {
		at := int64(0)
		err := Scan(bytes.NewReader(file), int64(len(file)), 0, func(s Span) error {
			if s.Position != at || s.End <= at || s.End > int64(len(file)) {
				t.Fatalf("a span from %d to %d after %d of %d bytes", s.Position, s.End, at, len(file))
			}
			if s.Err == nil && record.Batch(file[s.Position:s.End]).Check() != nil {
				t.Fatalf("the batch from %d to %d is not good", s.Position, s.End)
			}
			at = s.End
			return nil
		})
		if err != nil || at != int64(len(file)) {
			t.Fatalf("ended at %d of %d: %v", at, len(file), err)
		}
	})
}

// FuzzMetadataFrames: no file makes the decoder panic.
func FuzzMetadataFrames(f *testing.F) {
	dir := f.TempDir()
	m, err := metadata.Open(metadata.Options{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	if err := m.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := readFile(filepath.Join(dir, metadataLogName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _, _ = frames(file, func(fr frame) error {
			i, err := fr.item()
			_ = i.String()
			return err
		})
		_, _ = metadataRecords(file)
	})
}
