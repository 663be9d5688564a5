package segment

import (
	"bytes"
	"os"
	"testing"
)

func TestAFileWithASecondNameIsCopiedBeforeItIsWrittenOrCut(t *testing.T) {
	for name, change := range map[string]func(s *Segment) error{
		"written": func(s *Segment) error {
			f, err := s.Writer(0)
			if err != nil {
				return err
			}
			return f.Write([]byte("more"), s.Size(), true)
		},
		"cut": func(s *Segment) error { return s.CutTo(0, s.Base) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := newDisk(t)
			s := written(t, disk, 0, 20, nil)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := s.CloseWriter(false); err != nil {
				t.Fatal(err)
			}
			second := s.Path() + ".second"
			if err := disk.Link(s.Path(), second); err != nil {
				t.Fatal(err)
			}
			read := func(name string) []byte {
				f, err := disk.Open(name, os.O_RDONLY)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				size, _ := f.Size()
				b := make([]byte, size)
				if _, err := f.ReadAt(b, 0); err != nil {
					t.Fatal(err)
				}
				return b
			}
			before := read(second)
			held, err := s.Acquire() // a reader of before
			if err != nil {
				t.Fatal(err)
			}
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(read(second), before) {
				t.Error("the second name has changed")
			}
			if n, err := disk.Names(s.Path()); n != 1 || err != nil {
				t.Errorf("the file has %d names, %v", n, err)
			}
			b := make([]byte, len(before))
			if _, err := held.ReadAt(b, 0); err != nil || !bytes.Equal(b, before) {
				t.Errorf("the reader that held the file: %v", err)
			}
			s.Release()
			now, err := s.Acquire()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Release()
			if size, _ := now.Size(); size == int64(len(before)) {
				t.Error("a new reader has the old file")
			}
		})
	}
}
