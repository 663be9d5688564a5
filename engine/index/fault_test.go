package index

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
)

// large makes an index on the host's disk that is mapped, not read: some 40 pages.
func large(t *testing.T) (x *Offset, name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "00000000000000000000.index")
	x = offsets(t, fs.OS(), name, 0)
	for i := range int64(20_000) {
		must(t, x.Append(i+1, int32(i+1)))
	}
	must(t, x.Seal())
	if offset, position, err := x.Lookup(12_345); offset != 12_345 || position != 12_345 || err != nil {
		t.Fatalf("found %d at %d, %v", offset, position, err)
	}
	if x.view.mapping == nil {
		t.Fatal("not mapped")
	}
	return x, name
}

func TestAFaultInAMappingIsAnErrorAndTheIndexCanBeBuiltAgain(t *testing.T) {
	x, name := large(t)
	must(t, os.Truncate(name, 0))
	if _, _, err := x.Lookup(12_345); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("lookup in a file that was cut under its mapping: %v", err)
	}
	must(t, x.Reset())
	must(t, x.Append(10, 100))
	must(t, x.Seal())
	if offset, position, err := x.Lookup(10); offset != 10 || position != 100 || err != nil {
		t.Errorf("found %d at %d, %v", offset, position, err)
	}
}

func TestOtherFaultsStayPanics(t *testing.T) {
	x, _ := large(t)
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer was taken for a fault of the mapping")
		}
	}()
	var nowhere *int
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("fault returned %v", x.fault(x.view.bytes, r))
		}
	}()
	*nowhere = 1
}

func TestAnIndexThatWasCutAtRestIsAnError(t *testing.T) {
	x, name := large(t)
	must(t, x.Close())
	must(t, os.Truncate(name, 8192))
	if _, _, err := x.Lookup(12_345); !errors.Is(err, ErrCorrupt) {
		t.Errorf("lookup in a file that was cut: %v", err)
	}
}

func TestWithoutMappingsIndexesAreRead(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x", 0)
	for i := range int64(2000) {
		must(t, x.Append(i+1, int32(i+1)))
	}
	must(t, x.Seal())
	disk.SetFaults(fs.Faults{NoMap: true})
	if offset, _, err := x.Lookup(1500); offset != 1500 || err != nil || x.view.mapping != nil {
		t.Errorf("found %d, %v", offset, err)
	}
}

// A flush that fails has told its error: who closes the index then lets go of its file all the same.
func TestAnIndexWhoseFlushFailedIsClosedWithItsFile(t *testing.T) {
	disk := fs.NewCrash(1)
	x := offsets(t, disk, "x.index", 0)
	opened, closed := 0, 0
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		switch op {
		case fs.OpOpen:
			opened++
		case fs.OpClose:
			closed++
		case fs.OpDatasync:
			return unix.EIO
		}
		return nil
	})
	must(t, x.Append(1, 1))
	must(t, x.Flush(false))
	wantErr := func(err error) {
		t.Helper()
		if !errors.Is(err, unix.EIO) || opened == 0 || opened != closed {
			t.Errorf("%v, with %d descriptors opened and %d closed", err, opened, closed)
		}
	}
	wantErr(x.Close())
	opened, closed = 0, 0
	txns := NewTxn(disk, "x.txnindex", 0)
	addTxns(t, txns, some()...)
	_, err := txns.Flush()
	if !errors.Is(err, unix.EIO) {
		t.Error(err)
	}
	wantErr(txns.Close())
}
