package powerloss

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/powerloss/disk"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// free is how many bytes a machine's file system has left.
func free(t *testing.T, m *rig.Machine) int64 {
	t.Helper()
	dir, err := os.Open(m.Dir)
	must(t, err)
	defer dir.Close()
	must(t, unix.Syncfs(int(dir.Fd()))) // what was removed, or reserved ahead, is counted
	var st unix.Statfs_t
	must(t, unix.Fstatfs(int(dir.Fd()), &st))
	return int64(st.Bfree) * st.Bsize
}

// ids are the batches of a log.
func ids(t *testing.T, e *engine.Engine) (all []batchID) {
	t.Helper()
	l, ok := e.Log(engine.Name{Topic: "log"})
	if !ok {
		t.Fatal("the log is gone")
	}
	must(t, l.Err())
	must(t, tellBatches(l, "log", func(e event) { all = append(all, e.ID) }))
	return all
}

// sums are those of all files of a log, as a reader finds them.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	entries, err := os.ReadDir(filepath.Join(dir, "log-0"))
	must(t, err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, "log-0", e.Name()))
		must(t, err)
		all[e.Name()] = sha256.Sum256(b)
	}
	return all
}

// On XFS a backup is the same blocks: it takes no room, has all that was acknowledged after the power has gone, and neither of
// the two sees what is written to the other, or cut off it.
func TestABackupByReflinkSharesItsBlocksAndIsItsOwn(t *testing.T) {
	f := &faulty{m: rig.New(t, rig.Shutdown, "xfs")}
	source, to := filepath.Join(f.m.Dir, "data"), filepath.Join(f.m.Dir, "backup")
	f.open(t)
	t.Cleanup(func() { _ = f.e.Close() })
	var err error
	c := engine.Config{FlushMessages: 1, SegmentBytes: 1 << 20, RetentionAge: -1}
	f.l, err = f.e.Create(engine.Name{Topic: "log"}, [16]byte{1}, c)
	must(t, err)
	for f.l.Size() < 12<<20 {
		must(t, f.append())
	}
	before := free(t, f.m)
	got, err := f.e.Backup(context.Background(), to, engine.BackupOptions{})
	must(t, err)
	if got.Bytes[fs.Reflinked] < f.l.Size() || got.Bytes[fs.Linked]+got.Bytes[fs.Copied] != 0 {
		t.Errorf("it says %+v", got)
	}
	took := before - free(t, f.m)
	if t.Logf("%d bytes of logs, and %d more of the disk", f.l.Size(), took); took > 1<<20 {
		t.Error("they are not shared")
	}
	logs, err := filepath.Glob(filepath.Join(source, "log-0", "*.log"))
	must(t, err)
	for _, name := range logs[:len(logs)-1] { // the last one is cut to its length
		same, err := shares(name, filepath.Join(to, "log-0", filepath.Base(name)))
		must(t, err)
		if !same {
			t.Errorf("%s and its copy are not the same blocks", name)
		}
	}
	if len(logs) < 10 {
		t.Errorf("%d segments", len(logs))
	}

	f.m.Cut(t, disk.Any, 1)
	_ = f.e.Close() // offline
	f.m.Restart(t)
	verify(t, to)
	f.open(t)
	f.l, _ = f.e.Log(engine.Name{Topic: "log"})
	f.l.SetConfig(c)
	had := sums(t, to)
	must(t, f.l.Truncate(f.l.LogEndOffset()/2))
	f.next += 1000
	for range 100 {
		must(t, f.append())
	}
	if !reflect.DeepEqual(sums(t, to), had) {
		t.Error("a write to the source has changed the backup")
	}
	must(t, f.e.Close())
	had = sums(t, source)
	e, err := engine.Open(engine.Options{Dir: to, ReserveBytes: 1 << 20})
	must(t, err)
	defer e.Close()
	acked := f.acked[:len(f.acked)-100]
	if there := ids(t, e); !reflect.DeepEqual(there, acked) {
		t.Errorf("the backup has %d batches, %d were acknowledged before it", len(there), len(acked))
	}
	l, _ := e.Log(engine.Name{Topic: "log"})
	l.SetConfig(c)
	must(t, l.Truncate(l.LogEndOffset()/3))
	done := make(chan error, 1)
	l.Append(batchID(9999).prepared("log", 1000), 0, func(a engine.Appended) { done <- a.Err })
	must(t, <-done)
	if !reflect.DeepEqual(sums(t, source), had) {
		t.Error("a write to the backup has changed the source")
	}
}

// A disk that failed to write lost what the page cache still has, and calls clean. A backup of the directory that died of it has
// what a start on it has, which is what it has once more written, and says that it was not stopped in order.
func TestABackupOfADirectoryThatDiedOfItsDiskHasWhatAStartOnItHas(t *testing.T) {
	for _, filesystem := range rig.FileSystems {
		t.Run(filesystem, func(t *testing.T) {
			f := &faulty{m: rig.New(t, rig.Cache, filesystem)}
			source, to := filepath.Join(f.m.Dir, "data"), filepath.Join(f.m.Dir, "backup")
			f.open(t)
			t.Cleanup(func() { _ = f.e.Close() })
			var err error
			f.l, err = f.e.Create(engine.Name{Topic: "log"}, [16]byte{1}, engine.Config{
				FlushMessages: 1, Writer: engine.WriterBuffered, SegmentBytes: 256 << 10, RetentionAge: -1})
			must(t, err)
			for range 200 {
				must(t, f.append())
			}
			must(t, f.e.Checkpoint())
			must(t, f.append())
			must(t, f.m.Disk.Fail(disk.Write, syscall.EIO))
			if err := f.append(); !errors.Is(err, engine.ErrOffline) {
				t.Fatalf("an append to a disk that fails: %v", err)
			}
			must(t, f.m.Disk.Fail(disk.Write, 0))
			if _, err := f.e.Backup(context.Background(), to, engine.BackupOptions{SkipOffline: true}); !errors.Is(err, engine.ErrOffline) {
				t.Errorf("a backup of an engine that has failed: %v", err)
			}
			_ = f.e.Close() // offline
			got, err := engine.BackupDir(context.Background(), fs.OS(), source, to, engine.BackupOptions{})
			must(t, err)
			way := fs.Linked
			if filesystem == "xfs" {
				way = fs.Reflinked
			}
			if !got.Unclean || got.Bytes[way] == 0 || got.Bytes[fs.Copied] == 0 {
				t.Errorf("it says %+v", got)
			}
			f.open(t)
			want := ids(t, f.e)
			if len(want) < len(f.acked) {
				t.Errorf("a start has %d batches of %d", len(want), len(f.acked))
			}
			f.m.Cut(t, disk.None, 1)
			_ = f.e.Close() // offline
			f.m.Restart(t)
			verify(t, to)
			e, err := engine.Open(engine.Options{Dir: to, ReserveBytes: 1 << 20})
			must(t, err)
			defer e.Close()
			if there := ids(t, e); !reflect.DeepEqual(there, want) {
				t.Errorf("the backup has %d batches, a start %d, and %d were acknowledged", len(there), len(want), len(f.acked))
			}
		})
	}
}

// saidOf is what zurau log backup says of one directory.
type saidOf struct {
	Records int64
	Bytes   map[string]int64
}

// command runs zurau and returns what it prints.
func command(t *testing.T, in string, words ...string) string {
	t.Helper()
	c := exec.Command(broker.Binary(t), words...)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = strings.NewReader(in), &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("zurau %q: %v\n%s", words, err, stderr.String())
	}
	return string(out)
}

func TestABrokersBackupIsByReflinkWhereThatIsToBeHadAndFromAReadOnlyMount(t *testing.T) {
	m := rig.New(t, rig.Shutdown, "xfs")
	b := broker.Start(t, broker.Options{Dir: filepath.Join(m.Dir, "data")})
	var lines strings.Builder
	for n := range 8000 {
		fmt.Fprintf(&lines, "%06d %s\n", n, strings.Repeat("x", 500))
	}
	command(t, "", "topic", "create", "t", "-b", b.Addr, "--partitions", "1", "--config", "segment.bytes=1048576")
	command(t, lines.String(), "produce", "t", "-b", b.Addr, "--batch-bytes", "50000")
	backup := func(to string) (got saidOf) {
		t.Helper()
		must(t, json.Unmarshal([]byte(command(t, "", "log", "backup", "--json", b.Dir, to)), &got))
		verify(t, to)
		if got.Records < 8000 {
			t.Errorf("%d records", got.Records)
		}
		return got
	}
	if got := backup(filepath.Join(m.Dir, "backup")); got.Bytes["reflink"] < 4_000_000 || got.Bytes["link"]+got.Bytes["copy"] != 0 {
		t.Errorf("by the broker: %+v", got)
	}
	b.Kill(t)
	m.ReadOnly(t)
	to := filepath.Join(t.TempDir(), "backup")
	if got := backup(to); got.Bytes["copy"] < 4_000_000 {
		t.Errorf("to another file system: %+v", got)
	}
	second := broker.Start(t, broker.Options{Dir: to})
	if got := command(t, "", "consume", "t", "-b", second.Addr, "--from", "start", "--exit-at-end"); got != lines.String() {
		t.Errorf("the backup has %d bytes of %d", len(got), lines.Len())
	}
	second.Stop(t)
}
