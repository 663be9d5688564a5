package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/guard"
)

// backupTo is the place of a backup on a disk in memory.
const backupTo = "/backup"

// opened opens a backup, which must be as an orderly stop leaves a directory.
func opened(t *testing.T, fsys fs.FS, dir string, opt Options) *Engine {
	t.Helper()
	opt.FS, opt.Dir = fsys, dir
	e := open(t, opt)
	t.Cleanup(func() { e.Close() })
	r := e.Recovery()
	delete(r.States, EmptySegment) // a new segment without a record yet
	if !r.Clean || r.Offline != 0 || len(r.States) != 0 {
		t.Errorf("the backup is not as after an orderly stop: %+v", r)
	}
	return e
}

// sameLog holds a log of a backup against what the log had.
func sameLog(t *testing.T, e *Engine, n Name, want []stored) {
	t.Helper()
	l, ok := e.Log(n)
	if !ok {
		t.Fatalf("%s is not there", n)
	}
	got, err := contents(l)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the backup has %d batches, want %d:\n%v\n%v", n, len(got), len(want), got, want)
	}
}

func mustContents(t *testing.T, l *Log) []stored {
	t.Helper()
	all, err := contents(l)
	must(t, err)
	return all
}

func nothingAt(t *testing.T, fsys fs.FS, dir string) {
	t.Helper()
	for _, name := range []string{dir, dir + Incomplete} {
		if _, err := fsys.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

func TestABackupHasAllLogsAndOutlivesAPowerCut(t *testing.T) {
	for _, h := range ways {
		for _, stage := range []int64{-1, 1 << 20} {
			t.Run(fmt.Sprint(h.name, " stage ", stage), func(t *testing.T) {
				b := newBench(t)
				b.stop()
				b.opt = crashOptions(b.disk, h)
				b.opt.StageBytes = stage
				b.open()
				defer b.e.Close()
				want := map[Name][]stored{}
				for i, sync := range []bool{false, true} {
					l := b.create(fmt.Sprint("t", i), crashConfig(h, sync))
					b.fill(l, 100)
					b.add(l, batchOf("p", 3, 10, testNow, 7, 0))
					want[l.Name()] = mustContents(t, l)
				}
				b.create("empty", Config{})
				got, err := b.e.Backup(context.Background(), backupTo, BackupOptions{})
				must(t, err)
				if got.Logs != 2 || got.Records != 206 || got.Bytes[fs.Linked] == 0 || got.Bytes[fs.Copied] == 0 {
					t.Errorf("it says %+v", got)
				}
				guards := 0
				for _, l := range b.e.Logs() {
					for _, s := range *l.view.Load() {
						name := guard.Name(l.dir, s.Base)
						_, was := b.disk.Stat(name)
						_, is := b.disk.Stat(filepath.Join(backupTo, strings.TrimPrefix(name, "/data")))
						if was == nil && is != nil {
							t.Errorf("%s is not in the backup: %v", name, is)
						}
						if was == nil {
							guards++
						}
					}
				}
				if guards == 0 {
					t.Error("no segment has a guard")
				}
				left := b.disk.Clone(fs.DropUnflushed)
				for n := range want { // the backup is its own from now on
					l, _ := b.e.Log(n)
					must(t, l.Truncate(20))
					b.fill(l, 60)
				}
				must(t, b.e.Close())
				for _, disk := range []*fs.Crash{left, b.disk} {
					e := opened(t, disk, backupTo, crashOptions(disk, h))
					for n, all := range want {
						sameLog(t, e, n, all)
						l, _ := e.Log(n)
						if r := appendOne(l, batchOf("p", 3, 10, testNow, 7, 0)); !r.Duplicate || r.BaseOffset != 100 {
							t.Errorf("%s: a retry of what the backup has: %+v", n, r)
						}
					}
				}
			})
		}
	}
}

func TestABackupAndItsDirectoryDoNotSeeEachOthersWrites(t *testing.T) {
	dir := t.TempDir()
	source, to := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	e := open(t, Options{Dir: source})
	defer e.Close()
	l, err := e.Create(Name{"t", 0}, [16]byte{1}, small())
	must(t, err)
	for i := range 100 {
		appendOne(l, batchOf(fmt.Sprint(i), 1, 100, testNow, -1, 0))
	}
	want := mustContents(t, l)
	_, err = e.Backup(context.Background(), to, BackupOptions{})
	must(t, err)
	second := open(t, Options{Dir: to})
	copied, _ := second.Log(Name{"t", 0})
	for _, log := range []*Log{copied, l} { // each in turn cuts a segment that both have, and goes on in it
		log.SetConfig(small())
		must(t, log.Truncate(35))
		for i := range 30 {
			appendOne(log, batchOf(fmt.Sprintf("%p %d", log, i), 1, 90, testNow, -1, 0))
		}
	}
	must(t, second.Close())
	second = open(t, Options{Dir: to})
	defer second.Close()
	again, _ := second.Log(Name{"t", 0})
	for _, log := range []*Log{again, l} {
		got := mustContents(t, log)
		if len(got) != 65 || !reflect.DeepEqual(got[:35], want[:35]) {
			t.Errorf("%d batches, want 65 with the first 35 as they were", len(got))
		}
	}
	if a, b := mustContents(t, again)[40], mustContents(t, l)[40]; a.id == b.id {
		t.Errorf("both have %s at offset 40", a.id)
	}
}

// busy appends, cuts, deletes and takes old records off until it is told to stop: one of each beside every call that a backup makes.
func busy(b *bench, stop <-chan struct{}) *sync.WaitGroup {
	var all sync.WaitGroup
	var turns []chan struct{}
	again := func(f func(i int)) {
		turn := make(chan struct{}, 1)
		turns = append(turns, turn)
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-turn:
					f(i)
				}
			}
		}()
	}
	defer b.disk.SetHook(func(_ fs.Op, name string, _ int) error {
		if !strings.HasPrefix(name, backupTo) {
			return nil
		}
		for _, turn := range turns {
			select {
			case turn <- struct{}{}:
			default:
			}
		}
		runtime.Gosched()
		return nil
	})
	cut, retained, plain := b.log("cut"), b.log("retained"), b.log("plain")
	for _, l := range []*Log{cut, retained, plain} {
		again(func(i int) { appendOne(l, batchOf(fmt.Sprintf("later %06d", i), 1, 100, testNow, -1, 0)) })
	}
	again(func(int) { _ = cut.Truncate(max(cut.LogEndOffset()-30, 0)) })
	again(func(int) {
		_, _ = retained.DeleteRecordsTo(max(retained.HighWatermark()-30, 0))
		_ = b.e.Retain()
	})
	again(func(i int) {
		n := Name{"deleted", int32(i % 3)}
		l, err := b.e.Create(n, [16]byte{3}, small())
		if err == nil {
			appendOne(l, batchOf(batchID(0), 1, 100, testNow, -1, 0))
		}
		_ = b.e.Delete(n)
	})
	again(func(int) { _ = b.e.Checkpoint() })
	return &all
}

func TestABackupIsMadeBesideAppendsTruncationsRetentionAndDeletions(t *testing.T) {
	for _, h := range []how{ways[0], ways[2]} {
		t.Run(h.name, func(t *testing.T) {
			b := newBench(t)
			for _, topic := range []string{"cut", "retained", "plain"} {
				c := small()
				c.Writer = h.writer
				b.fill(b.create(topic, c), 100)
			}
			stop := make(chan struct{})
			all := busy(b, stop)
			for i := range 3 {
				had := b.log("plain").HighWatermark()
				to := fmt.Sprint(backupTo, i)
				_, err := b.e.Backup(context.Background(), to, BackupOptions{NoLinks: i%2 == 1})
				if err != nil && !errors.Is(err, errTruncated) { // cut again and again
					t.Error(err)
				}
				if err != nil {
					nothingAt(t, b.disk, to)
					continue
				}
				e := opened(t, b.disk.Clone(fs.DropUnflushed), to, crashOptions(b.disk, h))
				for _, l := range e.Logs() {
					if start := l.LogStartOffset(); start != 0 && l.Name().Topic != "retained" {
						t.Errorf("%s starts at %d", l.Name(), start)
					}
					last := ""
					for _, s := range mustContents(t, l) {
						if s.id <= last { // of two lives of the log, before a truncation and after it
							t.Fatalf("%s has %s behind %s at offset %d", l.Name(), s.id, last, s.base)
						}
						last = s.id
					}
				}
				if l, _ := e.Log(Name{"plain", 0}); l.LogEndOffset() < had {
					t.Errorf("the backup ends at %d, %d was there before it", l.LogEndOffset(), had)
				}
			}
			close(stop)
			all.Wait()
		})
	}
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 50)
	want := mustContents(t, l)
	calls, failed := 0, ""
	for n := 1; ; n++ {
		calls = 0
		b.disk.SetHook(func(op fs.Op, name string, _ int) error {
			if !strings.HasPrefix(name, backupTo) || !op.Changes() || op == fs.OpRemove {
				return nil
			}
			if calls++; calls == n {
				failed = op.String() + " " + name
				return unix.EIO
			}
			return nil
		})
		_, err := b.e.Backup(context.Background(), backupTo, BackupOptions{})
		b.disk.SetHook(nil)
		if err == nil && calls < n {
			break // it was made, and nothing failed
		}
		if err != nil {
			nothingAt(t, b.disk, backupTo)
			continue
		}
		// The failed call was one that a start does without, and what there is is whole.
		t.Logf("a backup does without %s", failed)
		sameLog(t, opened(t, b.disk.Clone(fs.DropUnflushed), backupTo, b.opt), l.Name(), want)
		must(t, (&backup{fs: b.disk}).remove(backupTo))
	}
	if calls < 30 {
		t.Errorf("%d calls, want more", calls)
	}
	t.Logf("failed each of %d calls once", calls)
	must(t, b.e.Err())
	sameLog(t, opened(t, b.disk, backupTo, b.opt), l.Name(), want)
}

func TestABackupIsRefusedWhereItMustNotBe(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 50)
	backup := func(ctx context.Context, to string) error {
		_, err := b.e.Backup(ctx, to, BackupOptions{})
		return err
	}
	must(t, b.disk.MkdirAll("/there"))
	wantErr(t, "a place that is taken", backup(context.Background(), "/there"), os.ErrExist)
	for _, to := range []string{"/data/backup", "/data", "/data/../data/x"} {
		if err := backup(context.Background(), to); err == nil {
			t.Errorf("a backup at %s is made", to)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, "a context that is done", backup(ctx, backupTo), context.Canceled)
	nothingAt(t, b.disk, backupTo)
	b.disk.SetCapacity(1 << 20)
	wantErr(t, "a disk without room", backup(context.Background(), backupTo), ErrNoSpace)
	nothingAt(t, b.disk, backupTo)
	b.disk.SetCapacity(1 << 40)
	must(t, b.e.Close())
	wantErr(t, "an engine that is closed", backup(context.Background(), backupTo), ErrClosed)
	nothingAt(t, b.disk, backupTo)
}

func TestALogThatIsOfflineFailsABackupUnlessItIsLeftOut(t *testing.T) {
	b := newBench(t)
	c := small()
	c.FlushMessages = 1
	good, bad := b.create("good", c), b.create("bad", c)
	b.fill(good, 40)
	b.fill(bad, 40)
	want := mustContents(t, good)
	path := (*bad.view.Load())[1].Path()
	b.stop()
	must(t, b.disk.Remove(path))
	for _, running := range []bool{true, false} {
		if running {
			b.open()
		}
		make := func(o BackupOptions) (Backup, error) {
			if running {
				return b.e.Backup(context.Background(), backupTo, o)
			}
			return BackupDir(context.Background(), b.disk, "/data", backupTo, o)
		}
		_, err := make(BackupOptions{})
		wantErr(t, "a backup of a log that is offline", err, ErrOffline)
		nothingAt(t, b.disk, backupTo)
		got, err := make(BackupOptions{SkipOffline: true})
		must(t, err)
		if !reflect.DeepEqual(got.Offline, []Name{bad.Name()}) || got.Logs != 1 {
			t.Errorf("running %t: %+v", running, got)
		}
		e := opened(t, b.disk, backupTo, b.opt)
		sameLog(t, e, good.Name(), want)
		must(t, e.Close())
		must(t, (&backup{fs: b.disk}).remove(backupTo))
		if running {
			b.e.Close()
		}
	}
}

func TestADirectoryThatNobodyHasIsCopiedWithWhatOnlyItsStageHas(t *testing.T) {
	for _, clean := range []bool{true, false} {
		b := newBench(t)
		b.stop()
		b.opt.StageBytes = 1 << 20
		b.open()
		l := b.create("t", small())
		b.fill(l, 25)
		must(t, l.Flush())
		b.fill(l, 25)
		want := mustContents(t, l)
		must(t, b.disk.MkdirAll("/data/other.0-delete"))
		disk := b.disk
		if clean {
			must(t, b.e.Close())
		} else {
			disk = disk.Clone(fs.KeepAll) // kill -9
			b.e.Close()
		}
		before := disk.Counts()
		got, err := BackupDir(context.Background(), disk, "/data", backupTo, BackupOptions{})
		must(t, err)
		if after := disk.Counts(); got.Records != 50 || after.Renames == before.Renames {
			t.Errorf("clean %t: %+v", clean, got)
		}
		must(t, (&backup{fs: disk}).remove("/data")) // nothing is only there
		sameLog(t, opened(t, disk.Clone(fs.DropUnflushed), backupTo, crashOptions(disk, ways[0])), l.Name(), want)
	}
}

// A directory whose process ended with a flush that failed shows what the disk does not have, and calls it clean. A backup by reflink
// or link would have what the disk has, or the same lie; a start on the directory has what it shows.
func TestABackupOfADirectoryWhoseFlushFailedHasWhatAStartOnItHas(t *testing.T) {
	for _, reflinks := range []bool{true, false} {
		for _, h := range ways {
			t.Run(fmt.Sprint(h.name, " reflinks ", reflinks), func(t *testing.T) {
				b := newBench(t)
				b.stop()
				b.disk.SetReflinks(reflinks)
				b.opt = crashOptions(b.disk, h)
				b.opt.StageBytes = -1
				b.open()
				c := crashConfig(h, false)
				l := b.create("t", c)
				b.fill(l, 60)
				must(t, b.e.Checkpoint()) // some segments lie below it
				failFrom(b.disk, ".log", unix.EIO, fs.OpDatasync, fs.OpWriteDurable)
				for i := int64(60); appendOne(l, batchOf(batchID(i), 1, 100, testNow, -1, 0)).Err == nil; i++ {
				}
				b.disk.SetHook(nil)
				b.e.Close() // offline
				got, err := BackupDir(context.Background(), b.disk, "/data", backupTo, BackupOptions{})
				must(t, err)
				way := fs.Linked
				if reflinks {
					way = fs.Reflinked
				}
				if !got.Unclean || got.Bytes[way] == 0 || got.Bytes[fs.Copied] == 0 {
					t.Errorf("it says %+v", got)
				}
				b.open()
				want := mustContents(t, b.log("t"))
				if len(want) < 60 {
					t.Errorf("%d batches, want 60 at least", len(want))
				}
				sameLog(t, opened(t, b.disk.Clone(fs.DropUnflushed), backupTo, crashOptions(b.disk, h)), l.Name(), want)
			})
		}
	}
}

func TestWhoBacksUpSeveralEnginesIsAskedBetweenInternalLogsAndOthersAndAtTheEnd(t *testing.T) {
	b := newBench(t)
	b.fill(b.create("__consumer_offsets", small()), 10)
	b.fill(b.create("t", small()), 10)
	there := func(name string) bool {
		_, err := b.disk.Stat(filepath.Join(backupTo+Incomplete, name))
		return err == nil
	}
	stop := errors.New("stop")
	var between, end error
	make := func() error {
		_, err := b.e.Backup(context.Background(), backupTo, BackupOptions{
			AfterInternal: func() error {
				if !there("__consumer_offsets-0") || there("t-0") {
					t.Error("not between the internal logs and the others")
				}
				return between
			},
			AfterLogs: func(dir string) error {
				if dir != backupTo+Incomplete || !there("t-0") {
					t.Errorf("not at the end, of %s", dir)
				}
				return end
			},
		})
		return err
	}
	between = stop
	wantErr(t, "an error in between", make(), stop)
	nothingAt(t, b.disk, backupTo)
	between, end = nil, stop
	wantErr(t, "an error at the end", make(), stop)
	nothingAt(t, b.disk, backupTo)
	end = nil
	must(t, make())
}

// Whatever a kill or a power cut leaves of a backup, under whatever name, is whole or says that it is not; and what is not ours is not removed.
func TestABackupThatIsCutOffSaysSo(t *testing.T) {
	b := newBench(t)
	l := b.create("t", small())
	b.fill(l, 40)
	want := mustContents(t, l)
	var left []*fs.Crash
	b.disk.SetHook(func(op fs.Op, name string, _ int) error {
		if op.Changes() && (strings.HasPrefix(name, backupTo) || name == "/") {
			left = append(left, b.disk.Clone(fs.KeepAll), b.disk.Clone(fs.DropUnflushed), b.disk.Clone(fs.Random))
		}
		return nil
	})
	_, err := b.e.Backup(context.Background(), backupTo, BackupOptions{})
	must(t, err)
	b.disk.SetHook(nil)
	left = append(left, b.disk.Clone(fs.DropUnflushed))
	whole, unfinished := 0, 0
	for i, disk := range left {
		for _, dir := range []string{backupTo, backupTo + Incomplete} {
			entries, err := disk.ReadDir(dir)
			if err != nil || len(entries) == 0 || len(entries) == 1 && entries[0].Name() == Unfinished+".tmp" {
				continue // nothing is in it
			}
			e, err := Open(Options{Dir: dir, FS: disk})
			if errors.Is(err, ErrUnfinished) {
				unfinished++
				_, err = BackupDir(context.Background(), disk, dir, "/another", BackupOptions{})
				wantErr(t, "a backup of it", err, ErrUnfinished)
				continue
			}
			must(t, err)
			if l, ok := e.Log(Name{"t", 0}); !ok || !reflect.DeepEqual(mustContents(t, l), want) {
				t.Errorf("disk %d: %s is opened, and is not whole", i, dir)
			}
			whole++
			must(t, e.Close())
		}
	}
	if whole == 0 || unfinished < 50 {
		t.Errorf("%d were whole, %d unfinished", whole, unfinished)
	}
	last := left[len(left)/2]
	data := open(t, Options{FS: last, Dir: "/data", StageBytes: -1})
	defer data.Close()
	_, err = data.Backup(context.Background(), backupTo, BackupOptions{}) // in the place of what is left
	must(t, err)
	must(t, last.MkdirAll("/mine"+Incomplete+"/notes"))
	_, err = data.Backup(context.Background(), "/mine", BackupOptions{})
	wantErr(t, "a folder of somebody else's in the way", err, os.ErrExist)
	if _, err := last.Stat("/mine" + Incomplete + "/notes"); err != nil {
		t.Errorf("it was removed: %v", err)
	}
}
