package powerloss

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/tests/powerloss/disk"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// A process of its own appends to logs of both modes and of all kinds of writers, rolls, truncates, retains and deletes; the power goes
// at a random moment; the next process tells what is there, and goes on with that.
func TestNothingFlushedIsLostByAPowerLoss(t *testing.T) {
	for _, k := range []rig.Kind{rig.Shutdown, rig.Cache} {
		for _, fs := range rig.FileSystems {
			t.Run(k.String()+" "+fs, func(t *testing.T) {
				l := newLosses(t, k, fs)
				for round := range rounds() {
					l.round(t, round, l.m.Restart)
				}
				l.last(t, rounds())
			})
		}
	}
}

// The process is a broker, and what counts is what its clients were told: appends of both modes, topics that go and are made again,
// changes of the flush mode.
func TestNothingABrokerAcknowledgedIsLostByAPowerLoss(t *testing.T) {
	for _, k := range []rig.Kind{rig.Shutdown, rig.Cache} {
		for _, fs := range rig.FileSystems {
			t.Run(k.String()+" "+fs, func(t *testing.T) {
				l := newLosses(t, k, fs)
				l.role, l.a.specs = brokerRole, topics
				for round := range rounds() {
					l.round(t, round, l.m.Restart)
				}
				l.last(t, rounds())
			})
		}
	}
}

// A disk whose cable was loose forgets its cache, and the kernel goes on under the same boot id. So the stage is believed, and its file is
// what the disk has of it.
func TestADiskThatComesBackUnderTheSameKernelHasLostNothingFlushed(t *testing.T) {
	for _, fs := range rig.FileSystems {
		t.Run(fs, func(t *testing.T) {
			l := newLosses(t, rig.Cache, fs)
			for round := range rounds() {
				l.round(t, round, l.m.Replug)
			}
			l.last(t, rounds())
		})
	}
}

// losses are those of one machine, and what is known of its logs.
type losses struct {
	m    *rig.Machine
	role string // of the process
	dir  string
	a    *account
	seed uint64
	rng  *rand.Rand
	// cutAt is when the power went, late how much was told after it.
	cutAt int64
	late  int
}

func newLosses(t *testing.T, k rig.Kind, fs string) *losses {
	t.Helper()
	rig.Need(t, "mkfs."+fs)
	l := &losses{m: rig.New(t, k, fs), role: engineRole, a: newAccount(), seed: newSeed(t)}
	l.dir = filepath.Join(l.m.Dir, "data")
	l.rng = newRand(l.seed)
	return l
}

// A process is one that appends, as its parent sees it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	events chan event // closed with its end
}

func (l *losses) start(t *testing.T, round int) *process {
	t.Helper()
	p := &process{cmd: rig.Role(l.role, "-dir", l.dir, "-seed", strconv.FormatUint(l.rng.Uint64(), 10), "-round", strconv.Itoa(round))}
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	p.events = make(chan event, 256)
	must(t, p.cmd.Start())
	t.Cleanup(func() { // before the machine's
		_ = p.cmd.Process.Kill()
		for range p.events {
		}
		_ = p.cmd.Wait() // the test has waited where it came to that
	})
	go func() {
		defer close(p.events)
		for d := json.NewDecoder(out); ; {
			var e event
			if d.Decode(&e) != nil { // what a kill cut off was not told
				return
			}
			p.events <- e
		}
	}()
	l.cutAt = math.MaxInt64
	l.a.begin(round)
	return p
}

// A manner is how the power goes.
type manner int

const (
	stoppedBefore manner = iota // some time after an orderly stop
	killedBefore                // after the process was killed
	unnoticed                   // the process never learns of it
	noticed                     // the process gets errors first
	manners
)

func (m manner) String() string {
	return [...]string{"stopped before", "killed before", "unnoticed", "noticed"}[m]
}

// round starts a process, cuts the power at a random moment, and brings the machine back.
func (l *losses) round(t *testing.T, round int, back func(testing.TB)) {
	t.Helper()
	began := time.Now()
	p := l.start(t, round)
	l.until(t, p, 1+l.rng.IntN(300))
	policy, seed := disk.Policy(l.rng.IntN(len(disk.Policies()))), l.rng.Uint64()
	how := manner(l.rng.IntN(int(manners)))
	switch how {
	case stoppedBefore:
		must(t, p.stdin.Close())
		l.drain(t, p)
		if !l.a.closed {
			t.Fatalf("round %d: no orderly stop", round)
		}
		l.m.Cut(t, policy, seed)
	case killedBefore:
		l.kill(t, p)
		writeBack(t, l.dir, l.rng)
		l.m.Cut(t, policy, seed)
	default:
		writeBack(t, l.dir, l.rng)
		l.cut(t, p, how, policy, seed)
	}
	t.Logf("round %d, %v: %d acknowledged durably so far, %v lands, %v", round, how, l.a.synced, policy, time.Since(began).Round(time.Millisecond))
	back(t)
	verify(t, l.dir)
}

// cut takes the power from a process that runs. A disk with a cache does it itself, in the midst of a write or before a flush.
func (l *losses) cut(t *testing.T, p *process, how manner, policy disk.Policy, seed uint64) {
	t.Helper()
	if l.m.Disk == nil {
		l.cutAt = rig.Now()
		l.m.Cut(t, policy, seed)
		l.untilFailed(t, p)
		l.kill(t, p)
		return
	}
	trap := disk.Trap{Op: disk.Write, N: 1 + l.rng.IntN(100), Policy: policy, Seed: seed, Stall: how == unnoticed}
	if l.rng.IntN(2) == 0 {
		trap.Op, trap.N = disk.Flush, 1+l.rng.IntN(40)
	}
	sprung := l.m.Disk.Set(trap)
	var told []event // until it is known when the power went
	for done := false; !done; {
		select {
		case e, ok := <-p.events:
			if !ok {
				t.Fatalf("the process ended: %v", p.cmd.Wait())
			}
			told = append(told, e)
		case call := <-sprung:
			must(t, call.Error)
			done = true
		}
	}
	if how == unnoticed {
		must(t, p.cmd.Process.Kill()) // it is gone when what it waits for has failed
		l.m.Cut(t, policy, seed)
	}
	c, err := l.m.Counts()
	must(t, err)
	l.cutAt = c.CutAt
	for _, e := range told {
		l.take(t, e)
	}
	if how == noticed {
		l.untilFailed(t, p)
	}
	l.kill(t, p)
}

// writeBack has the kernel write some pages of the files, here and there, as it does in any order when it likes.
func writeBack(t *testing.T, dir string, rng *rand.Rand) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || rng.IntN(2) == 0 {
			return ignoreMissing(err)
		}
		f, err := os.Open(name)
		if err != nil {
			return ignoreMissing(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		const page = 4096
		for range 8 {
			at := rng.Int64N(info.Size()/page+1) * page
			if err := unix.SyncFileRange(int(f.Fd()), at, page<<rng.IntN(6), unix.SYNC_FILE_RANGE_WRITE); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
}

// ignoreMissing passes over what retention or a deletion took meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// last starts a process once more and stops it in order: then all of its files are as they should be.
func (l *losses) last(t *testing.T, round int) {
	t.Helper()
	p := l.start(t, round)
	l.until(t, p, 50)
	must(t, p.stdin.Close())
	l.drain(t, p)
	if !l.a.closed {
		t.Fatal("no orderly stop")
	}
	verify(t, l.dir)
	c, err := l.m.Counts()
	must(t, err)
	t.Logf("%d acknowledged durably in %d rounds, %d events after a cut; the disk: %+v", l.a.synced, round, l.late, c)
}

// until takes what the process tells until n more appends are acknowledged durably. Nothing may fail: there is power.
func (l *losses) until(t *testing.T, p *process, n int) {
	t.Helper()
	for goal := l.a.synced + n; l.a.synced < goal; {
		e, ok := <-p.events
		if !ok {
			t.Fatalf("the process ended: %v", p.cmd.Wait())
		}
		if l.take(t, e); l.a.failed != nil {
			t.Fatalf("failed while there was power: %v", l.a.failed)
		}
	}
}

// untilFailed takes what the process tells until it tells of an error.
func (l *losses) untilFailed(t *testing.T, p *process) {
	t.Helper()
	for l.a.failed == nil {
		e, ok := <-p.events
		if !ok {
			t.Fatalf("the process ended: %v", p.cmd.Wait())
		}
		l.take(t, e)
	}
}

func (l *losses) take(t *testing.T, e event) {
	t.Helper()
	if e.At >= l.cutAt {
		var counts bool
		if e, counts = late(e); !counts {
			return
		}
		l.late++
	}
	if err := l.a.take(e); err != nil {
		t.Fatalf("round %d: %v", l.a.round, err)
	}
}

// drain takes what is left to be told by a process that ends.
func (l *losses) drain(t *testing.T, p *process) {
	t.Helper()
	for e := range p.events {
		l.take(t, e)
	}
	_ = p.cmd.Wait() // it may have been killed
}

func (l *losses) kill(t *testing.T, p *process) {
	t.Helper()
	must(t, p.cmd.Process.Kill())
	l.drain(t, p)
}
