package powerloss

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/tests/broker"
	"github.com/zurau/zurau/tests/powerloss/rig"
)

// A served broker has two log directories, each on a disk of its own, of which the second stalls.
type served struct {
	*broker.Broker
	good, bad *rig.Machine
	a, b      string // the directories
	// where partitions are: of each topic one in each directory
	inA, inB map[string]int32
	end      int64 // of both partitions of the topic of old records
}

const (
	// oldBytes is how many bytes of old records each directory has.
	oldBytes = 24 << 20
	// stuck is how many connections ask the disk that stalls for old records: more than there are readers and places.
	stuck = 110
)

func newServed(t *testing.T, fs string) *served {
	t.Helper()
	s := &served{good: rig.New(t, rig.Shutdown, fs), bad: rig.New(t, rig.Cache, fs), inA: map[string]int32{}, inB: map[string]int32{}}
	s.a, s.b = filepath.Join(s.good.Dir, "data"), filepath.Join(s.bad.Dir, "data")
	s.Broker = broker.Start(t, broker.Options{Dir: s.a + "," + s.b, Set: []string{"metadata.log.dir=" + s.a, "zurau.reserve.bytes=1048576",
		"zurau.stage.bytes=16777216", "zurau.zero.ahead.bytes=8388608", "zurau.memory.bytes=268435456"}})
	c := s.dial(t)
	for topic, flush := range map[string]string{"async": "9223372036854775807", "sync": "1", "old": "9223372036854775807", "doomed": "1"} {
		var err error
		s.inA[topic], s.inB[topic], err = c.inEach(topic, s.a, s.b, "flush.messages", flush, "segment.bytes", "4194304", "index.interval.bytes", "100")
		must(t, err)
		for p := range int32(2) {
			_, err := c.produce(topic, p, batchID(1).build(topic, 100))
			must(t, err)
		}
	}
	s.fill(t, c)
	return s
}

func (s *served) dial(t *testing.T) client {
	t.Helper()
	c, err := dial(s.Addr)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// fill writes the old records, and lets the kernel forget them.
func (s *served) fill(t *testing.T, c client) {
	t.Helper()
	for n := 0; n < oldBytes; {
		b := batchID(2+n).build("old", 40_000)
		for p := range int32(2) {
			base, err := c.produce("old", p, b)
			must(t, err)
			s.end = base
		}
		n += len(b)
	}
	must(t, c.alter("old", "flush.messages", "1")) // it is all in files when the next one is acknowledged
	for p := range int32(2) {
		_, err := c.produce("old", p, batchID(1).build("old", 100))
		must(t, err)
	}
	forget(t, s.a)
	forget(t, s.b)
}

// forget has the kernel write the files of a directory and drop them from memory.
func forget(t *testing.T, dir string) {
	t.Helper()
	syncfs(t, dir)
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreMissing(err)
		}
		f, err := os.Open(name)
		if err != nil {
			return ignoreMissing(err)
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}))
}

// A crowd is connections that do something again and again, until they are told to stop.
type crowd struct {
	stop    atomic.Bool
	running sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

// add has a connection do something over and over, and notes how long that took.
func (w *crowd) add(t *testing.T, s *served, took *times, do func(c client, n int) error) {
	c := s.dial(t)
	w.running.Go(func() {
		for n := 0; !w.stop.Load(); n++ {
			began := time.Now()
			if err := do(c, n); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.errs = append(w.errs, err)
				return
			}
			took.add(time.Since(began))
		}
	})
}

func (w *crowd) wait(t *testing.T) {
	t.Helper()
	w.stop.Store(true)
	w.running.Wait()
	must(t, errors.Join(w.errs...))
}

// kinds of what clients of the good directory do.
type kinds struct{ async, sync, tail, old, times times }

func (k *kinds) each() map[string]*times {
	return map[string]*times{"async produce": &k.async, "sync produce": &k.sync, "fetch of new records": &k.tail, "fetch of old records": &k.old,
		"look-up of a time": &k.times}
}

// clientsOf starts clients of the directory whose disk is well: some on every event loop.
func (s *served) clientsOf(t *testing.T, k *kinds) *crowd {
	w := new(crowd)
	for i := range 4 {
		w.add(t, s, &k.async, func(c client, n int) error {
			_, err := c.produce("async", s.inA["async"], batchID(n+2).build("async", 4000))
			return err
		})
		w.add(t, s, &k.sync, func(c client, n int) error {
			_, err := c.produce("sync", s.inA["sync"], batchID(n+2).build("sync", 4000))
			return err
		})
		w.add(t, s, &k.tail, func(c client, _ int) error {
			end, err := c.offset("async", s.inA["async"], latest)
			if err == nil {
				_, err = c.fetch("async", s.inA["async"], max(end-1, 0), 64<<10)
			}
			return err
		})
		w.add(t, s, &k.old, func(c client, n int) error {
			_, err := c.fetch("old", s.inA["old"], (int64(n)*37+int64(i))%s.end, 1<<20)
			return err
		})
		w.add(t, s, &k.times, func(c client, n int) error {
			_, err := c.offset("old", s.inA["old"], epoch+int64(n*1000+i))
			return err
		})
	}
	return w
}

// asked is what was sent to the disk that stalls, and is answered afterwards.
type asked struct {
	answers sync.WaitGroup
	early   atomic.Int32
	errs    chan error
}

// askBad sends what has to wait for the disk that stalls: old records and times, more than there are readers, on connections of their own, and
// appends of both modes, behind which the same connection asks for something of the other directory.
func (s *served) askBad(t *testing.T) *asked {
	a := &asked{errs: make(chan error, 2*stuck)}
	in := func(do func(c client) error) {
		c := s.dial(t)
		a.answers.Go(func() {
			if err := do(c); err != nil {
				a.errs <- err
			}
			a.early.Add(1)
		})
	}
	for i := range stuck {
		in(func(c client) error {
			at := (s.end / stuck) * int64(i)
			if i%10 == 0 {
				_, err := c.offset("old", s.inB["old"], epoch+at)
				return err
			}
			_, err := c.fetch("old", s.inB["old"], at, 100<<10<<(i%5))
			return err
		})
	}
	for _, topic := range []string{"sync", "async"} {
		in(func(c client) error { return s.pipelined(c, topic) })
	}
	for range 40 {
		in(func(c client) error { return s.flood(c) })
	}
	return a
}

// pipelined sends an append to each directory behind each other, on one connection: the answers come in that order.
func (s *served) pipelined(c client, topic string) error {
	batch := batchID(9).build(topic, 1000)
	first, second := produceRequest(topic, s.inB[topic], batch), produceRequest(topic, s.inA[topic], batch)
	if err := errors.Join(c.send(first), c.send(second)); err != nil {
		return err
	}
	for _, r := range []struct {
		what string
		err  error
	}{{"first", answerTo(c, s.inB[topic])}, {"second", answerTo(c, s.inA[topic])}} {
		if r.err != nil {
			return fmt.Errorf("%s: the %s answer: %w", topic, r.what, r.err)
		}
	}
	return nil
}

// flood sends large appends to the disk that stalls, more than the memory for requests.
func (s *served) flood(c client) error {
	const requests = 5
	b := record.NewBuilder(record.None)
	b.Add(epoch, nil, make([]byte, 900<<10))
	sent := make(chan error, 1)
	go func() {
		for range requests {
			if err := c.send(produceRequest("sync", s.inB["sync"], b.Bytes())); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range requests {
		if err := answerTo(c, s.inB["sync"]); err != nil {
			return err
		}
	}
	return <-sent
}

// answerTo takes the answer to an append, which has to be that of a partition.
func answerTo(c client, partition int32) error {
	r, err := receive[*kmsg.ProduceResponse](c, &kmsg.ProduceRequest{Version: 9})
	if err == nil && r.Topics[0].Partitions[0].Partition != partition {
		err = fmt.Errorf("it is of partition %d, want %d", r.Topics[0].Partitions[0].Partition, partition)
	}
	if err == nil {
		_, err = produced(r, nil)
	}
	return err
}

// wireStall is how long a disk does nothing while a broker is asked.
func wireStall() time.Duration {
	if broker.Long() {
		return 10 * time.Second
	}
	return 4 * time.Second
}

// One of a broker's log directories is on a disk that does nothing for seconds, with more reads of it on their way than there are readers, and
// appends. Who asks for something of the other directory, on any event loop, is answered as if nothing were; so are changes of topics, and what waits
// is done when the disk goes on.
func TestADiskThatStallsHoldsUpNoClientOfAnotherOne(t *testing.T) {
	for _, fs := range rig.FileSystems {
		t.Run(fs, func(t *testing.T) {
			s := newServed(t, fs)
			t.Cleanup(func() { _ = s.bad.Disk.Unstall() }) // before the broker is killed, which it could not be
			var before, during kinds
			w := s.clientsOf(t, &before)
			for _, k := range before.each() {
				k.await(t, 50)
			}
			w.wait(t)
			forget(t, s.b)
			must(t, s.bad.Disk.Stall(0))
			over := time.After(wireStall())
			a := s.askBad(t)
			for n := 0; n == 0; {
				var err error
				n, err = s.bad.Disk.Waiting()
				must(t, err)
			}
			w = s.clientsOf(t, &during)
			s.changeTopics(t)
			<-over
			w.wait(t)
			if n := stuck + 42 - int(a.early.Load()); n < stuck*9/10 {
				t.Errorf("%d of %d requests wait for the disk that stalls: too few to tell", n, stuck+2)
			}
			must(t, s.bad.Disk.Unstall())
			a.answers.Wait()
			close(a.errs)
			for err := range a.errs {
				t.Errorf("what waited for the disk: %v", err)
			}
			for what, k := range during.each() {
				t.Logf("%s: before %v; during %v", what, before.each()[what], k)
				if k.quantile(0.99) > untouched || k.quantile(1) > wireStall()*3/4 || k.len() < 20 {
					t.Errorf("%s: %v", what, k)
				}
			}
			s.wantChanged(t)
		})
	}
}

// changeTopics deletes a topic that has a partition on the disk that stalls, and makes it again, and others.
func (s *served) changeTopics(t *testing.T) {
	t.Helper()
	c := s.dial(t)
	var took times
	for _, change := range []func() error{
		func() error { return c.remove("doomed") },
		func() error { return c.create("doomed", 2) },
		func() error { return c.create("new", 2) },
		func() error { return c.alter("async", "retention.ms", "100000000") },
	} {
		began := time.Now()
		must(t, change())
		took.add(time.Since(began))
	}
	t.Logf("changes of topics: %v", &took)
	if took.quantile(1) > wireStall()*3/4 {
		t.Errorf("changes of topics: %v", &took)
	}
}

// wantChanged looks whether all of that has happened.
func (s *served) wantChanged(t *testing.T) {
	t.Helper()
	c := s.dial(t)
	end := time.Now().Add(deadline)
	for _, topic := range []string{"doomed", "new"} {
		for p := range int32(2) {
			base, err := c.produce(topic, p, batchID(1).build(topic, 100))
			for errors.Is(err, kerr.KafkaStorageError) && time.Now().Before(end) { // its log is being made
				base, err = c.produce(topic, p, batchID(1).build(topic, 100))
			}
			if base != 0 || err != nil {
				t.Errorf("the first record of %s-%d is at %d, %v", topic, p, base, err)
			}
		}
	}
	s.Stop(t)
}
