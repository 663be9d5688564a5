package metadata

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
)

// The fault model: power goes at any call of the file system, and leaves of what was not flushed nothing, everything or
// any part, sector by sector and name by name; or one call fails. What must hold: each update that returned nil is
// there after the restart, the updates that are there are a prefix of those that were begun, and a start succeeds.

const crashDir = "/data"

func newDisk(seed uint64) *fs.Crash {
	disk := fs.NewCrash(seed)
	if err := disk.MkdirAll(crashDir); err != nil {
		panic(err)
	}
	disk.Settle()
	return disk
}

// crashOptions compacts often, so that the replacements of both files are among the calls.
func crashOptions(disk *fs.Crash) Options {
	return Options{Dir: crashDir, FS: disk, CompactBytes: 700, Rand: rand.NewChaCha8([32]byte{7})}
}

// step is update k of the workload, from 1.
func step(n *Node, k int64) error {
	return n.Update(context.Background(), func(img *Image) ([]Record, error) {
		if img.NextProducerID != k-1 {
			return nil, fmt.Errorf("step %d on an image of step %d", k, img.NextProducerID)
		}
		records := []Record{ProducerIDsRecord{k}, TopicRecord{ID: stepID(k), Name: fmt.Sprint("topic-", k)},
			PartitionRecord{stepID(k), Partition{ID: 0, Replicas: []int32{0}, ISR: []int32{0}}}}
		if k%3 == 0 {
			records = append(records, RemoveTopicRecord{stepID(k - 1)})
		}
		return records, nil
	})
}

func stepID(k int64) ID { return ID{byte(k), byte(k >> 8), 1} }

// progress counts the workload's steps.
type progress struct{ begun, acked atomic.Int64 }

// workload runs steps over two starts of the node until an error.
func workload(disk *fs.Crash, p *progress) error {
	for _, steps := range []int64{10, 18} {
		n, err := Open(crashOptions(disk))
		if err != nil {
			return err
		}
		for k := p.acked.Load() + 1; k <= steps && err == nil; k++ {
			p.begun.Store(k)
			if err = step(n, k); err == nil {
				p.acked.Store(k)
			}
		}
		if err := errors.Join(err, n.Close()); err != nil {
			return err
		}
	}
	return nil
}

// check opens the node on a disk that was cut and holds it against the steps.
func check(disk *fs.Crash, begun, acked int64) error {
	n, err := Open(crashOptions(disk))
	if err != nil {
		return err
	}
	defer n.Close()
	img := n.Image()
	k := img.NextProducerID
	if k < acked || k > begun {
		return fmt.Errorf("%d steps are there, but %d were acknowledged and %d begun", k, acked, begun)
	}
	for i := int64(1); i <= k; i++ {
		t, ok := img.TopicByID(stepID(i))
		if removed := i%3 == 2 && i < k; ok == removed || ok && t.Len() != 1 {
			return fmt.Errorf("%d steps are there, and topic %d: %v", k, i, ok)
		}
	}
	// The directory serves on.
	return step(n, k+1)
}

// cuts runs the workload and calls cut at each call that can change the disk.
func cuts(t *testing.T, seed uint64, faults fs.Faults, cut func(disk *fs.Crash, op fs.Op, n int, begun, acked int64) error) error {
	disk, p := newDisk(seed), new(progress)
	disk.SetFaults(faults)
	var found error
	disk.SetHook(func(op fs.Op, _ string, n int) error {
		if op.Changes() && found == nil {
			if err := cut(disk, op, n, p.begun.Load(), p.acked.Load()); err != nil {
				found = fmt.Errorf("seed %d, power cut at call %d, %v: %w", seed, n, op, err)
			}
		}
		return nil
	})
	if err := workload(disk, p); err != nil {
		t.Fatal(err)
	}
	if violations, closed := disk.Violations(), disk.ClosedUnflushed(); faults == (fs.Faults{}) && len(violations)+len(closed) > 0 {
		t.Fatal(violations, closed)
	}
	return found
}

func everyPolicy(disk *fs.Crash, _ fs.Op, _ int, begun, acked int64) error {
	for _, policy := range []fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random, fs.Random, fs.Random, fs.Random} {
		if err := check(disk.Clone(policy), begun, acked); err != nil {
			return fmt.Errorf("policy %d: %w", policy, err)
		}
	}
	return nil
}

func TestNoAcknowledgedUpdateIsLostWhereverPowerGoes(t *testing.T) {
	for seed := range uint64(5) {
		if err := cuts(t, seed, fs.Faults{}, everyPolicy); err != nil {
			t.Error(err)
		}
	}
}

func TestNoAcknowledgedUpdateIsLostWherePowerGoesAgainDuringRecovery(t *testing.T) {
	err := cuts(t, 11, fs.Faults{}, func(disk *fs.Crash, op fs.Op, n int, begun, acked int64) error {
		again := disk.Clone(fs.Random)
		var found error
		again.SetHook(func(op fs.Op, _ string, m int) error {
			if op.Changes() && found == nil {
				// check adds one step of its own, which is begun at most.
				if err := check(again.Clone(fs.Random), begun+1, acked); err != nil {
					found = fmt.Errorf("again at call %d, %v: %w", m, op, err)
				}
			}
			return nil
		})
		return errors.Join(check(again, begun, acked), found)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheCrashTestsFindAFlushThatIsMissing(t *testing.T) {
	for name, faults := range map[string]fs.Faults{"datasync": {IgnoreDatasync: true}, "directory": {IgnoreSyncDir: true}} {
		if err := cuts(t, 1, faults, everyPolicy); err == nil {
			t.Errorf("without the %s flush nothing was lost", name)
		}
	}
}

var errPlanted = errors.New("planted fault")

func TestAFailedCallIsFinalAndLosesNothingAcknowledged(t *testing.T) {
	for fail := 1; ; fail++ {
		disk, p := newDisk(uint64(fail)), new(progress)
		hit, calls := false, 0
		disk.SetHook(func(op fs.Op, _ string, _ int) error {
			if !op.Changes() {
				return nil
			}
			if calls++; calls == fail {
				hit = true
				return errPlanted
			}
			return nil
		})
		err := workload(disk, p)
		if !hit {
			if fail < 50 || err != nil {
				t.Fatalf("the workload made %d calls: %v", fail-1, err)
			}
			return
		}
		if !errors.Is(err, errPlanted) {
			t.Fatalf("call %d failed, and the workload said %v", fail, err)
		}
		for _, policy := range []fs.Policy{fs.DropUnflushed, fs.KeepAll, fs.Random} {
			if err := check(disk.Clone(policy), p.begun.Load(), p.acked.Load()); err != nil {
				t.Fatalf("call %d failed, policy %d: %v", fail, policy, err)
			}
		}
	}
}

func TestAfterAFailedFlushNothingIsTakenAndTheReasonIsTold(t *testing.T) {
	disk := newDisk(1)
	n, err := Open(crashOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	disk.SetHook(func(op fs.Op, _ string, _ int) error {
		if op == fs.OpDatasync {
			return errPlanted
		}
		return nil
	})
	before := n.Image()
	if err := step(n, 1); !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
	<-n.Done()
	disk.SetHook(nil) // the disk is well again, as Linux would have it
	if err := step(n, 1); !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
	if _, _, err := n.AllocateProducerIDs(context.Background()); !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
	if n.Image() != before {
		t.Fatal("an image was published that is not durable")
	}
	if err := n.Close(); !errors.Is(err, errPlanted) {
		t.Fatal(err)
	}
}

func TestAFullDiskRefusesUpdatesAndTheNodeGoesOn(t *testing.T) {
	disk := newDisk(1)
	disk.SetCapacity(1 << 20)
	n, err := Open(crashOptions(disk))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	disk.SetCapacity(spaceReserve)
	if err := step(n, 1); !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	disk.SetCapacity(1 << 20)
	if err := step(n, 1); err != nil {
		t.Fatal(err)
	}
	if errors.Is(n.Err(), unix.ENOSPC) {
		t.Fatal(n.Err())
	}
}
