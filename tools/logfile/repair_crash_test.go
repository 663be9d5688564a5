package logfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	efs "github.com/zurau/zurau/engine/fs"
)

// onTwin copies a directory to a disk in memory, under the same path.
func onTwin(t *testing.T, dir string) *efs.Crash {
	t.Helper()
	disk := efs.NewCrash(1)
	must(t, disk.MkdirAll(dir))
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return disk.MkdirAll(path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := disk.Open(path, os.O_RDWR|os.O_CREATE)
		must(t, err)
		must(t, f.Write(b, 0, false))
		must(t, f.Datasync())
		return f.Close()
	}))
	disk.Settle()
	return disk
}

// planOn plans on the host's files and applies to the twin's.
func (d *made) planOn(disk *efs.Crash, choice Choice) *Plan {
	d.t.Helper()
	r := Repair{Choice: choice, Now: time.UnixMilli(now), FS: disk}
	plan, err := r.Plan(d.root)
	must(d.t, err)
	return plan
}

// TestACrashAtAnyPointOfARepairLosesNothingThatItWouldNot cuts the power before each call of a repair that changes
// something, and repairs what is left.
func TestACrashAtAnyPointOfARepairLosesNothingThatItWouldNot(t *testing.T) {
	for _, name := range []string{"two places", "a segment that is double", "a segment that is lost"} {
		for _, choice := range []Choice{Cut, Skip} {
			c := damages[name]
			d := make1(t, c.how)
			c.make(d)
			want := map[Choice][]int64{Cut: c.cut, Skip: c.skip}[choice]
			cuts, step := 0, 11
			if os.Getenv("ZURAU_LONG") != "" {
				step = 1
			}
			for at := 1; ; at += step {
				disk := onTwin(t, d.root)
				plan := d.planOn(disk, choice)
				calls, left := 0, (*efs.Crash)(nil)
				disk.SetHook(func(op efs.Op, _ string, _ int) error {
					if op.Changes() {
						if calls++; calls == at {
							left = disk.Clone(efs.Random)
						}
					}
					return nil
				})
				must(t, plan.Apply(nil))
				disk.SetHook(nil)
				if left == nil {
					break
				}
				cuts++
				d.afterCrash(t, fmt.Sprintf("%s, %d, call %d", name, choice, at), left, plan, choice, want)
			}
			if cuts*step < 12 {
				t.Errorf("%s, %d: only %d cuts", name, choice, cuts)
			}
		}
	}
}

// afterCrash repairs again what a crash has left, and reads the log.
func (d *made) afterCrash(t *testing.T, what string, left *efs.Crash, plan *Plan, choice Choice, want []int64) {
	t.Helper()
	out := &made{t: t, root: filepath.Join(t.TempDir(), "data")}
	out.dir = filepath.Join(out.root, "t-0")
	export(t, left, d.root, out.root)
	if rest, err := (&Repair{Choice: choice, Now: time.UnixMilli(now)}).Plan(out.root); err != nil {
		t.Fatalf("%s: %v", what, err)
	} else if err := rest.Apply(nil); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	e, l := out.start()
	defer e.Close()
	if l == nil || l.Err() != nil {
		t.Fatalf("%s: %v", what, l.Err())
	}
	if got := offsets(t, l, 100); !slices.Equal(got, want) {
		t.Errorf("%s: offsets %v, want %v", what, got, want)
	}
}

// export copies a directory of a twin to the host.
func export(t *testing.T, disk *efs.Crash, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(to, 0o755))
	entries, err := disk.ReadDir(from)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			export(t, disk, filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
			continue
		}
		f, err := disk.Open(filepath.Join(from, e.Name()), os.O_RDONLY)
		must(t, err)
		size, err := f.Size()
		must(t, err)
		b := make([]byte, size)
		if size > 0 {
			_, err = f.ReadAt(b, 0)
			must(t, err)
		}
		must(t, f.Close())
		must(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o644))
	}
}

// TestAFailedCallEndsARepairWithTheReason fails each call that changes something.
func TestAFailedCallEndsARepairWithTheReason(t *testing.T) {
	d := make1(t, how{})
	d.flip(13)
	before := tree(t, d.root)
	for at := 1; ; at++ {
		disk := onTwin(t, d.root)
		plan := d.planOn(disk, Skip)
		calls, failed := 0, false
		disk.SetHook(func(op efs.Op, _ string, _ int) error {
			if calls++; op.Changes() && calls == at {
				failed = true
				return fs.ErrPermission
			}
			return nil
		})
		err := plan.Apply(nil)
		disk.SetHook(nil)
		if err == nil && !failed && calls < at {
			break
		}
		if failed != (err != nil) {
			t.Errorf("call %d: failed %t, %v", at, failed, err)
		}
		if err != nil && strings.HasPrefix(err.Error(), "nothing was changed") {
			out := filepath.Join(t.TempDir(), "data")
			export(t, disk, d.root, out)
			for path, content := range tree(t, out) {
				rel, _ := filepath.Rel(out, path)
				if before[d.at(rel)] != content {
					t.Errorf("call %d: %s has changed: %v", at, rel, err)
				}
			}
		}
	}
}
