package checkpoint

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAfterAPowerFailureACheckpointIsTheOldOneOrTheNewOne(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	old, next := []Offset{{"a", 0, 1}}, []Offset{{"a", 0, 2}, {"b", 0, 3}}
	disk := fs.NewCrash(seed)
	must(t, WriteOffsets(disk, RecoveryPoints, old))
	// A cut before each call of the second write, in several ways.
	disk.SetHook(func(op fs.Op, name string, n int) error {
		for range 20 {
			got, err := ReadOffsets(disk.Clone(fs.Random), RecoveryPoints)
			if err != nil || !slices.Equal(got, old) && !slices.Equal(got, next) {
				t.Errorf("before %v %s: %v, %v", op, name, got, err)
			}
		}
		return nil
	})
	must(t, WriteOffsets(disk, RecoveryPoints, next))
	disk.SetHook(nil)
	if got, err := ReadOffsets(disk.Clone(fs.DropUnflushed), RecoveryPoints); err != nil || !slices.Equal(got, next) {
		t.Errorf("after: %v, %v", got, err)
	}
}

func TestAFailedWriteLeavesTheOldCheckpoint(t *testing.T) {
	boom := errors.New("boom")
	old := []Offset{{"a", 0, 1}}
	for fail := 1; ; fail++ {
		disk := fs.NewCrash(uint64(fail))
		must(t, WriteOffsets(disk, CleanerOffsets, old))
		calls := 0
		disk.SetHook(func(op fs.Op, _ string, _ int) error {
			if calls++; op.Changes() && calls == fail {
				return boom
			}
			return nil
		})
		err := WriteOffsets(disk, CleanerOffsets, []Offset{{"a", 0, 2}})
		disk.SetHook(nil)
		if err == nil {
			break
		}
		if !errors.Is(err, boom) {
			t.Errorf("call %d: %v", fail, err)
		}
		if got, err := ReadOffsets(disk.Clone(fs.DropUnflushed), CleanerOffsets); err != nil || !slices.Equal(got, old) {
			t.Errorf("call %d failed: %v, %v", fail, got, err)
		}
		// What the failed write left behind is no obstacle to the next one.
		must(t, WriteOffsets(disk, CleanerOffsets, []Offset{{"a", 0, 3}}))
	}
}

func TestAMissingFileIsNotACorruptOne(t *testing.T) {
	disk := fs.NewCrash(1)
	for name, read := range map[string]func() error{
		"offsets": func() error { _, err := ReadOffsets(disk, LogStarts); return err },
		"epochs":  func() error { _, err := ReadLeaderEpochs(disk, "."); return err },
		"topic":   func() error { _, err := ReadTopicID(disk, "."); return err },
		"meta":    func() error { _, err := ReadMeta(disk, "."); return err },
	} {
		if err := read(); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCorruptFilesAreRefusedByFileAndLine(t *testing.T) {
	for _, c := range []struct{ name, content, at string }{
		{RecoveryPoints, "1\n0\n", ":1:"},
		{RecoveryPoints, "\x00\x00\x00\x00", ":1:"},
		{RecoveryPoints, "0", ":1:"},
		{RecoveryPoints, "0\n", ":2:"},
		{RecoveryPoints, "0\n1\n", ":2:"},
		{RecoveryPoints, "0\n2000000000\nt 0 1\n", ":2:"},
		{RecoveryPoints, "0\n1\nt 0 18", ":3:"},
		{RecoveryPoints, "0\n1\nt 0\n", ":3:"},
		{RecoveryPoints, "0\n1\nt 0 1 2\n", ":3:"},
		{RecoveryPoints, "0\n1\nt -1 1\n", ":3:"},
		{RecoveryPoints, "0\n1\nt 0 -1\n", ":3:"},
		{RecoveryPoints, "0\n1\nt 0 9223372036854775808\n", ":3:"},
		{RecoveryPoints, "0\n1\nt 2147483648 0\n", ":3:"},
		{RecoveryPoints, "0\n2\nt 0 1\n\x00\x00\x00\x00", ":4:"},
		{RecoveryPoints, "0\n1\nt 0 1\nt 1 1\n", ":4:"},
		{LeaderEpochsName, "0\n2\n1 5\n1 6\n", ":4:"},
		{LeaderEpochsName, "0\n2\n1 5\n2 5\n", ":4:"},
		{LeaderEpochsName, "0\n2\n2 5\n1 6\n", ":4:"},
		{LeaderEpochsName, "0\n1\n-1 5\n", ":3:"},
		{PartitionMetadataName, "", ":1:"},
		{PartitionMetadataName, "version: 1\ntopic_id: HTG7yel4RDajLWwib9uuPg", ":1:"},
		{PartitionMetadataName, "version: 0\n", ":2:"},
		{PartitionMetadataName, "version: 0\ntopic_id: HTG7yel4RDajLWwib9uu", ":2:"},
		{PartitionMetadataName, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", ":2:"},
		{MetaName, "", ":1:"},
		{MetaName, "version=1\ncluster.id=x\n", "node.id is missing"},
		{MetaName, "version=0\nbroker.id=1\n", ":1:"},
		{MetaName, "version=1\nnode.id=-1\n", ":2:"},
		{MetaName, "version=1\n\ngarbage\n", ":3:"},
		{MetaName, "version=1\nnode.id=1\ncluster.id=x\ndirectory.id=y\n", ":4:"},
	} {
		_, _, err := again(c.name, []byte(c.content))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), c.at) {
			t.Errorf("%s %q: %v, expected it at %s", c.name, c.content, err, c.at)
		}
	}
}

func TestMetaPropertiesAreReadAsJavaWritesThem(t *testing.T) {
	content := "# by hand\r\n! also a comment\r\n\r\n node.id = 7 \r\nversion=1\r\ncluster.id=a\\:b\\=c\r\nother=x\r\n"
	m, err := parseMeta(MetaName, content)
	if want := (Meta{ClusterID: "a:b=c", NodeID: 7}); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
	m.DirectoryID = ID{1, 2, 3}
	disk := fs.NewCrash(1)
	must(t, WriteMeta(disk, ".", m, time.Unix(1_700_000_000, 0)))
	if got, err := ReadMeta(disk, "."); err != nil || got != m {
		t.Errorf("%+v became %+v, %v", m, got, err)
	}
}

func TestTopicIDsAndEpochsComeBack(t *testing.T) {
	disk := fs.NewCrash(1)
	id := ID{0xff, 0xfe, 15: 1}
	must(t, WriteTopicID(disk, ".", id))
	if got, err := ReadTopicID(disk, "."); got != id || err != nil {
		t.Errorf("%x, %v", got, err)
	}
	var e LeaderEpochs
	e.Assign(3, 0)
	e.Assign(5, 10)
	must(t, e.Write(disk, "."))
	got, err := ReadLeaderEpochs(disk, ".")
	must(t, err)
	if !slices.Equal(got.Entries(), e.Entries()) {
		t.Errorf("%v became %v", e.Entries(), got.Entries())
	}
}

func TestTheMarkOfAnOrderlyStopIsGoneDurablyOnceItIsRemoved(t *testing.T) {
	disk := fs.NewCrash(1)
	if _, clean, err := ReadCleanShutdown(disk, "."); clean || err != nil {
		t.Errorf("new directory: clean %v, %v", clean, err)
	}
	must(t, WriteCleanShutdown(disk, ".", 109))
	if epoch, clean, err := ReadCleanShutdown(disk.Clone(fs.DropUnflushed), "."); epoch != 109 || !clean || err != nil {
		t.Errorf("epoch %d, clean %v, %v", epoch, clean, err)
	}
	must(t, RemoveCleanShutdown(disk, "."))
	must(t, RemoveCleanShutdown(disk, "."))
	if _, clean, err := ReadCleanShutdown(disk.Clone(fs.DropUnflushed), "."); clean || err != nil {
		t.Errorf("removed: clean %v, %v", clean, err)
	}
}

func TestAnOldOrDamagedMarkOfAnOrderlyStopHasNoEpoch(t *testing.T) {
	for content, want := range map[string]int64{
		"": -1, "{}": -1, "garbage": -1, `{"version":0,"brokerEpoch":null}`: -1, `{"brokerEpoch":7,"later":true}`: 7,
	} {
		if got := parseCleanShutdown([]byte(content)); got != want {
			t.Errorf("%q: epoch %d, want %d", content, got, want)
		}
	}
}

// FuzzFiles feeds garbage to every decoder: it must refuse it or agree with its own encoding of it.
func FuzzFiles(f *testing.F) {
	names := []string{RecoveryPoints, LeaderEpochsName, PartitionMetadataName, CleanShutdownName, MetaName}
	f.Add(0, []byte("0\n2\nt 0 1\nu 1 2\n"))
	f.Add(1, []byte("0\n2\n0 0\n2 5\n"))
	f.Add(2, []byte("version: 0\ntopic_id: HTG7yel4RDajLWwib9uuPg"))
	f.Add(3, []byte(`{"version":0,"brokerEpoch":109}`))
	f.Add(4, []byte("#\n#Mon Nov 30 22:51:07 UTC 2026\nnode.id=1\ndirectory.id=Jo-8DfRX7gUDEcDB7fX8wg\nversion=1\ncluster.id=A\\:A\n"))
	f.Fuzz(func(t *testing.T, kind int, content []byte) {
		name := names[uint(kind)%uint(len(names))]
		if name == MetaName {
			m, err := parseMeta(name, string(content))
			if err != nil {
				return
			}
			if got, err := parseMeta(name, string(formatMeta(m, time.Unix(0, 0)))); err != nil || got != m {
				t.Fatalf("%+v became %+v, %v", m, got, err)
			}
			return
		}
		once, _, err := again(name, content)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		twice, _, err := again(name, once)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q became %q, then %q, %v", content, once, twice, err)
		}
	})
}
