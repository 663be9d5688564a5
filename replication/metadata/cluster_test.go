package metadata

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// network carries messages between nodes of one process, and loses those to and from nodes that are cut off.
type network struct {
	mu    sync.Mutex
	nodes map[int32]*Node
	cut   map[int32]bool
}

type networkPort struct {
	net  *network
	from int32
}

func (p networkPort) Send(to int32, message []byte) bool {
	p.net.mu.Lock()
	n, reachable := p.net.nodes[to], !p.net.cut[p.from] && !p.net.cut[to]
	p.net.mu.Unlock()
	return n != nil && reachable && n.Receive(message) == nil
}

func (w *network) setCut(id int32, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[id] = cut
}

func (w *network) start(t *testing.T, id int32, dir string) *Node {
	t.Helper()
	n := open(t, Options{Dir: dir, NodeID: id, Voters: []int32{1, 2, 3}, Transport: networkPort{w, id},
		Tick: 5 * time.Millisecond, CompactBytes: 2000})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[id] = n
	return n
}

// eventually polls what has no event to wait for: an election among three clocks.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !is() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%s: did not happen in 20 s", what)
		}
	}
}

// updateAnywhere gives an update to whoever leads.
func (w *network) updateAnywhere(t *testing.T, decide func(*Image) ([]Record, error)) {
	t.Helper()
	eventually(t, "an update", func() bool {
		w.mu.Lock()
		nodes := make([]*Node, 0, len(w.nodes))
		for id, n := range w.nodes {
			if !w.cut[id] {
				nodes = append(nodes, n)
			}
		}
		w.mu.Unlock()
		for _, n := range nodes {
			err := n.Update(context.Background(), decide)
			if err == nil {
				return true
			}
			if !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrClosed) {
				t.Fatal(err)
			}
		}
		return false
	})
}

// createOnce is an update that may be tried again after ErrNotLeader, whatever became of the first try.
func createOnce(i int) func(*Image) ([]Record, error) {
	return func(img *Image) ([]Record, error) {
		if _, ok := img.TopicByID(numberedID(i)); ok {
			return nil, nil
		}
		return topicRecords(numberedID(i), fmt.Sprint("topic-", i), 1), nil
	}
}

func TestThreeVotersAgreeThroughLostLeadersAndSnapshots(t *testing.T) {
	w := &network{nodes: map[int32]*Node{}, cut: map[int32]bool{}}
	dirs := map[int32]string{}
	for id := int32(1); id <= 3; id++ {
		dirs[id] = t.TempDir()
		w.start(t, id, dirs[id])
	}
	next := 0
	create := func(n int) {
		for range n {
			w.updateAnywhere(t, createOnce(next))
			next++
		}
	}
	create(5)
	for round := range int32(3) {
		// Cut one off, the leader in the first round, and change so much that its log cannot be continued.
		id := round%3 + 1
		if round == 0 {
			id = w.leader()
		}
		w.setCut(id, true)
		create(60)
		w.setCut(id, false)
		create(5)
	}
	// A node that was stopped and started again has what the others have.
	if err := w.nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	create(5)
	w.start(t, 2, dirs[2])
	create(1)
	w.agree(t, next)
}

func (w *network) leader() int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, n := range w.nodes {
		if n.Leader() {
			return id
		}
	}
	return 1
}

// agree waits until all nodes have all topics, and compares the images.
func (w *network) agree(t *testing.T, topics int) {
	t.Helper()
	for id, n := range w.nodes {
		eventually(t, fmt.Sprintf("node %d has all", id), func() bool {
			select {
			case <-n.Done():
				t.Fatalf("node %d stopped: %v", id, n.Err())
			default:
			}
			return n.Image().TopicCount() == topics && n.Image().Offset == w.nodes[1].Image().Offset
		})
	}
	want := dumpImage(w.nodes[1].Image())
	for id, n := range w.nodes {
		if got := dumpImage(n.Image()); got != want {
			t.Errorf("node %d has\n%s\nnode 1 has\n%s", id, got, want)
		}
	}
}

func TestMessagesThatAreNotForTheNodeAreRefused(t *testing.T) {
	n := open(t, Options{Dir: t.TempDir()})
	for _, m := range [][]byte{nil, {0xff}, []byte("garbage")} {
		if err := n.Receive(m); err == nil {
			t.Errorf("%x was taken", m)
		}
	}
}
