package metadata

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
)

const backupDir = "/backup"

// backupDisk is a disk with a place for a backup.
func backupDisk(t *testing.T) *fs.Crash {
	disk := newDisk(1)
	if err := disk.MkdirAll(backupDir); err != nil {
		t.Fatal(err)
	}
	disk.Settle()
	return disk
}

func TestABackupIsTheMetadataOfOneMomentBesideUpdates(t *testing.T) {
	disk := backupDisk(t)
	n := open(t, crashOptions(disk))
	const before, after = 20, 60
	for k := int64(1); k <= before; k++ {
		if err := step(n, k); err != nil {
			t.Fatal(err)
		}
	}
	updated := make(chan error, 1)
	halfway := make(chan struct{})
	go func() {
		for k := int64(before + 1); k <= after; k++ {
			if k == before+10 {
				close(halfway)
			}
			if err := step(n, k); err != nil {
				updated <- fmt.Errorf("update %d: %w", k, err)
				return
			}
		}
		updated <- nil
	}()
	<-halfway
	if err := n.Backup(backupDir); err != nil {
		t.Fatal(err)
	}
	if err := <-updated; err != nil {
		t.Fatal(err)
	}
	if err := n.Backup(backupDir); err == nil {
		t.Error("a backup replaces another")
	}
	o := crashOptions(disk.Clone(fs.DropUnflushed))
	o.Dir = backupDir
	if img, err := Peek(o.FS, backupDir); err != nil || img.NextProducerID < before || img.ClusterID != n.Image().ClusterID {
		t.Errorf("a look at it: %v", err)
	}
	if img, err := Peek(o.FS, "/nowhere"); err != nil || img.Offset != 0 {
		t.Errorf("a look at nothing: %v", err)
	}
	for start := range int64(2) { // the second start reads what the first has appended
		c := open(t, o)
		k := c.Image().NextProducerID
		if k < before+9+start || k > after+start || c.Image().ClusterID != n.Image().ClusterID {
			t.Fatalf("it is of step %d and cluster %s", k, c.Image().ClusterID)
		}
		if len(c.Image().Removed()) != int(k/3) {
			t.Errorf("of step %d it knows these removed topics: %v", k, c.Image().Removed())
		}
		if err := step(c, k+1); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n.Image().NextProducerID != after {
		t.Errorf("the node is at step %d", n.Image().NextProducerID)
	}
}

func TestABackupThatFailsIsNoFailureOfTheNode(t *testing.T) {
	disk := backupDisk(t)
	n := open(t, crashOptions(disk))
	for call := 1; ; call++ {
		calls := 0
		disk.SetHook(func(op fs.Op, name string, _ int) error {
			if !op.Changes() || !strings.HasPrefix(name, backupDir) {
				return nil
			}
			if calls++; calls == call {
				return unix.EIO
			}
			return nil
		})
		err := n.Backup(backupDir)
		disk.SetHook(nil)
		if calls < call {
			if err != nil || call < 10 {
				t.Errorf("%d calls, %v", call, err)
			}
			break
		}
		if !errors.Is(err, unix.EIO) {
			t.Errorf("call %d: %v", call, err)
		}
		for _, name := range []string{logName, snapshotName} {
			_ = disk.Remove(backupDir + "/" + name)
		}
	}
	if err := step(n, 1); err != nil {
		t.Error(err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := n.Backup("/elsewhere"); !errors.Is(err, ErrClosed) {
		t.Errorf("of a node that is closed: %v", err)
	}
}
