package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble"
	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/tidwall/wal"
	bolt "go.etcd.io/bbolt"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

// A store appends values. One writer uses the function that appender returns.
type store interface {
	appender() func(value []byte) error
	close() error
}

// A rival is a store by its name. Synced says that an append is on stable storage when it returns.
type rival struct {
	name   string
	synced bool
	open   func(dir string) (store, error)
}

const (
	ours         = "zurau"
	oursUnsynced = "zurau-unsynced"
	natsUnsynced = "jetstream-unsynced"
)

var rivals = []rival{
	{ours, true, func(dir string) (store, error) { return openEngine(dir, engine.Config{FlushMessages: 1}) }},
	{"raft-wal", true, openRaftWAL},
	{"pebble", true, openPebble},
	{"bbolt", true, openBolt},
	{"tidwall-wal", true, openTidwall},
	{"jetstream", true, func(dir string) (store, error) { return openJetStream(dir, true) }},
	{oursUnsynced, false, func(dir string) (store, error) { return openEngine(dir, engine.Config{}) }},
	{natsUnsynced, false, func(dir string) (store, error) { return openJetStream(dir, false) }},
}

// engineStore is one log.
type engineStore struct {
	e *engine.Engine
	l *engine.Log
}

func openEngine(dir string, c engine.Config) (store, error) {
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "engine")})
	if err != nil {
		return nil, err
	}
	l, err := e.Create(engine.Name{Topic: "log"}, [16]byte{1}, c)
	return &engineStore{e, l}, err
}

func (s *engineStore) appender() func([]byte) error {
	var p record.Prepared
	var batch []byte
	b, done := record.NewBuilder(record.None), make(chan error, 1)
	answer := func(a engine.Appended) { done <- a.Err }
	return func(value []byte) error {
		now := time.Now().UnixMilli()
		b.Reset()
		batch = b.Add(now, nil, value).AppendTo(batch[:0])
		if err := p.Prepare(batch, record.DefaultRules(now)); err != nil {
			return err
		}
		s.l.Append(&p, 0, answer)
		return <-done
	}
}

func (s *engineStore) close() error { return s.e.Close() }

// inOrder is a store that wants consecutive indexes from one caller at a time.
type inOrder struct {
	mu    sync.Mutex
	last  uint64
	write func(index uint64, value []byte) error
	end   func() error
}

func (s *inOrder) appender() func([]byte) error {
	return func(value []byte) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last++
		return s.write(s.last, value)
	}
}

func (s *inOrder) close() error { return s.end() }

func openRaftWAL(dir string) (store, error) {
	l, err := raftwal.Open(dir)
	if err != nil {
		return nil, err
	}
	return &inOrder{write: func(i uint64, v []byte) error { return l.StoreLog(&raft.Log{Index: i, Data: v}) }, end: l.Close}, nil
}

func openTidwall(dir string) (store, error) {
	l, err := wal.Open(filepath.Join(dir, "wal"), nil)
	if err != nil {
		return nil, err
	}
	return &inOrder{write: l.Write, end: l.Close}, nil
}

// keyed is a store of keys and values: keys are numbers in order.
type keyed struct {
	next atomic.Uint64
	set  func(key, value []byte) error
	end  func() error
}

func (s *keyed) appender() func([]byte) error {
	return func(value []byte) error { return s.set(fmt.Appendf(nil, "%020d", s.next.Add(1)), value) }
}

func (s *keyed) close() error { return s.end() }

func openPebble(dir string) (store, error) {
	db, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	return &keyed{set: func(k, v []byte) error { return db.Set(k, v, pebble.Sync) }, end: db.Close}, nil
}

// quiet keeps Pebble from writing to standard error.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func openBolt(dir string) (store, error) {
	db, err := bolt.Open(filepath.Join(dir, "bolt.db"), 0o644, nil)
	if err != nil {
		return nil, err
	}
	bucket := []byte("log")
	db.MaxBatchDelay = time.Millisecond // its default of 10 ms is for other loads
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	})
	return &keyed{set: func(k, v []byte) error {
		return db.Batch(func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put(k, v) })
	}, end: db.Close}, err
}

// natsStore is a server without a socket, and a client inside of it.
type natsStore struct {
	s  *server.Server
	c  *nats.Conn
	js nats.JetStreamContext
}

func openJetStream(dir string, sync bool) (store, error) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, SyncAlways: sync, NoLog: true, NoSigs: true, MaxPayload: 1 << 20})
	if err != nil {
		return nil, err
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the NATS server did not get ready within 10 s")
	}
	n := &natsStore{s: s}
	if n.c, err = nats.Connect("", nats.InProcessServer(s)); err == nil {
		n.js, err = n.c.JetStream()
	}
	if err == nil {
		_, err = n.js.AddStream(&nats.StreamConfig{Name: "LOG", Subjects: []string{"log"}, Storage: nats.FileStorage})
	}
	return n, err
}

func (n *natsStore) appender() func([]byte) error {
	return func(value []byte) error {
		_, err := n.js.Publish("log", value)
		return err
	}
}

func (n *natsStore) close() error {
	n.c.Close()
	n.s.Shutdown()
	n.s.WaitForShutdown()
	return nil
}
