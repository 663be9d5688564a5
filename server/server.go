package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/api"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/metrics"
	"github.com/zurau/zurau/server/offsets"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// Options says how a broker is started. The zero value is a broker with Kafka's defaults, on 127.0.0.1:9092, with its data
// in ./zurau-data.
type Options struct {
	// Config is the broker's configuration: config.Load reads a server.properties. nil is none.
	Config *config.Static
	// Logger receives what an operator should know. nil discards.
	Logger *slog.Logger
}

// A Server is a broker that runs.
type Server struct {
	cfg     config.Broker
	dir     string
	log     *slog.Logger
	lock    io.Closer
	engine  *engine.Engine
	meta    *metadata.Node
	broker  *api.Broker
	net     *netio.Server
	metrics *metrics.Server // nil: none
	offsets *offsets.Store
	cancel  context.CancelFunc
	naming  sync.WaitGroup
	ending  ending
	dynamic dynamic

	closing sync.Once
	closed  error
}

// Start starts a broker, and returns when clients can connect. It runs until Close; ctx ends the start alone.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{log: o.Logger, ending: ending{done: make(chan struct{})}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	static := o.Config
	if static == nil {
		var err error
		if static, err = config.Load(config.Options{}); err != nil {
			return nil, err
		}
	}
	s.cfg = config.Layers{Static: static}.Broker()
	if err := s.start(ctx, static); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, static *config.Static) error {
	if err := s.supported(); err != nil {
		return err
	}
	id, static, err := s.openDir(static)
	if err != nil {
		return err
	}
	if err := s.openEngine(static); err != nil {
		return err
	}
	if err := s.openMetadata(id, static); err != nil {
		return err
	}
	if err := s.takeBack(static); err != nil {
		return err
	}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	stop, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.broker = &api.Broker{
		NodeID: s.cfg.NodeID, Metadata: s.meta, Engine: s.engine, Static: static, DirectoryID: id, Log: s.log, Stop: stop,
		Partitions:  partition.New(s.cfg.NodeID, s.engine, static, s.log),
		DiskReaders: int(s.cfg.Engine.ReadWorkers), FetchMaxBytes: s.cfg.Network.FetchMaxBytes,
		FetchSessions: int(orNever(int64(s.cfg.Network.FetchSessions))),
	}
	if err := s.broker.Partitions.Follow(s.meta); err != nil {
		return err
	}
	s.offsets = offsets.New(offsets.Options{Metadata: s.meta, Partitions: s.broker.Partitions, Config: s.cfg.Groups, Log: s.log})
	s.broker.Groups = s.offsets.Coordinator()
	s.offsets.Start()
	s.naming.Go(func() { s.nameOpenTransactions(stop) })
	if err := s.listen(); err != nil {
		return err
	}
	s.followConfig()
	return s.register(ctx, id, static)
}

// openDir makes the log directory where it is not there, keeps others out, and reads whose it is. It returns the
// configuration with the node id that the directory has, where none was set.
func (s *Server) openDir(static *config.Static) (id metadata.ID, _ *config.Static, err error) {
	s.dir = s.cfg.LogDirs[0] // log.dir has a default
	if err := makeDir(fs.OS(), s.dir); err != nil {
		return id, nil, fmt.Errorf("log directory %s: %w", s.dir, err)
	}
	if s.lock, err = lockAgainstKafka(s.dir); err != nil {
		return id, nil, fmt.Errorf("log directory %s: %w", s.dir, err)
	}
	m, err := checkpoint.ReadMeta(fs.OS(), s.dir)
	if errors.Is(err, os.ErrNotExist) {
		id, err = metadata.NewID(random{})
		return id, static, err
	}
	if err != nil {
		return id, nil, err
	}
	static = s.nodeOf(static, m.NodeID)
	if m.NodeID != s.cfg.NodeID {
		return id, nil, fmt.Errorf("%s is of node.id %d, and this broker is %d",
			filepath.Join(s.dir, checkpoint.MetaName), m.NodeID, s.cfg.NodeID)
	}
	if id = m.DirectoryID; id.IsZero() {
		id, err = metadata.NewID(random{}) // the directory is older than such ids
	}
	return id, static, err
}

func (s *Server) openEngine(static *config.Static) (err error) {
	e := s.cfg.Engine
	s.engine, err = engine.Open(engine.Options{
		Dir:                  s.dir,
		Logger:               s.log,
		OnAdvance:            partition.Advanced,
		OnFailure:            s.directoryFailed,
		MemoryBytes:          memoryBudget(e.MemoryBytes) / 2,
		SyncMethod:           syncMethod(e.SyncMethod),
		ReserveBytes:         max(e.ReserveBytes, 1),
		ZeroAheadBytes:       orNever(e.ZeroAheadBytes),
		StageBytes:           orNever(e.StageBytes),
		NoRing:               e.Ring == "off",
		RetentionInterval:    time.Duration(s.cfg.Logs.RetentionCheckMs) * time.Millisecond,
		ProducerIDExpiration: time.Duration(s.cfg.Logs.ProducerIDExpirationMs) * time.Millisecond,
	})
	return err
}

// orNever says "none" in the engine's words, where zero is the default.
func orNever(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

func syncMethod(name string) engine.SyncMethod {
	switch name {
	case "dsync":
		return engine.SyncDsync
	case "fdatasync":
		return engine.SyncFdatasync
	}
	return engine.SyncAuto
}

// openMetadata opens the metadata, and says in the directory whose it is now. A directory of another cluster is refused:
// its metadata was lost, or was never here, and with it all that is known about the logs.
func (s *Server) openMetadata(id metadata.ID, static *config.Static) (err error) {
	s.meta, err = metadata.Open(metadata.Options{Dir: s.dir, NodeID: s.cfg.NodeID, Logger: s.log,
		AtFirst: func() ([]metadata.Record, error) { return s.firstRecords(id, static) }})
	if err != nil {
		return err
	}
	go s.watchMetadata()
	m := checkpoint.Meta{ClusterID: s.meta.Image().ClusterID, NodeID: s.cfg.NodeID, DirectoryID: checkpoint.ID(id)}
	old, err := checkpoint.ReadMeta(fs.OS(), s.dir)
	switch {
	case err == nil && old == m:
		return s.noteStarted()
	case err == nil && old.ClusterID != "" && old.ClusterID != m.ClusterID:
		name := filepath.Join(s.dir, checkpoint.MetaName)
		return fmt.Errorf("%s is of cluster %s, and the metadata beside it is of cluster %s and knows none of the other's topics: "+
			"expected the metadata that was written with these logs; to have topics adopted from the folders of their partitions instead, with all of their "+
			"records kept, remove zurau-metadata.* and %s; to give them up, remove %s", name, old.ClusterID, m.ClusterID, startedName, name)
	}
	return errors.Join(checkpoint.WriteMeta(fs.OS(), s.dir, m, time.Now()), s.noteStarted())
}

// listen lets clients connect.
func (s *Server) listen() (err error) {
	n := s.cfg.Network
	limits, _ := connectionLimits(s.broker.Layers())
	opts := netio.Options{
		Loops:           int(n.Loops),
		MaxFrame:        int(n.RequestMaxBytes),
		Limits:          limits,
		SocketSend:      int(n.SendBufferBytes),
		SocketReceive:   int(n.ReceiveBufferBytes),
		IdleTimeout:     time.Duration(n.IdleMs) * time.Millisecond,
		MaxPending:      int(n.PendingRequests),
		MaxPendingBytes: int(n.PendingBytes),
		Memory:          memoryBudget(s.cfg.Engine.MemoryBytes) / 2,
		Logger:          s.log,
	}
	for _, l := range s.listeners() {
		opts.Listeners = append(opts.Listeners, netio.Listener{Name: l.Name, Addr: net.JoinHostPort(l.Host, strconv.Itoa(l.Port))})
	}
	table := s.broker.Table()
	h := &wire.Server{Table: table, Log: s.log}
	if s.cfg.MetricsListener != "" {
		s.broker.Appends, h.Stats = new(api.AppendStats), wire.NewStats(table)
	}
	if s.net, err = netio.Start(opts, h); err != nil || h.Stats == nil {
		return err
	}
	s.metrics, err = metrics.Listen(s.cfg.MetricsListener, metrics.Source{
		Requests: h.Stats, Appends: s.broker.Appends, Net: s.net, Engine: s.engine, Metadata: s.meta, Partitions: s.broker.Partitions,
		Dir: s.dir, Health: s.Err, Log: s.log,
	})
	return err
}

// register tells the cluster who and where this broker is.
func (s *Server) register(ctx context.Context, id metadata.ID, static *config.Static) error {
	incarnation, err := metadata.NewID(random{})
	if err != nil {
		return err
	}
	b := metadata.Broker{ID: s.cfg.NodeID, Epoch: -1, Incarnation: incarnation, Rack: s.cfg.Rack, Directories: []metadata.ID{id}}
	addrs := s.net.Addr()
	for i, l := range s.listeners() {
		e, err := s.advertise(l, addrs[i])
		if err != nil {
			return err
		}
		b.Endpoints = append(b.Endpoints, e)
	}
	return s.meta.Update(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
		records := []metadata.Record{metadata.BrokerRecord{Broker: b}}
		if len(img.Brokers()) == 0 {
			records = append(records, api.ClusterDefaults(img, static)...)
		}
		return records, nil
	})
}

// advertise returns what clients of a listener are told to connect to.
func (s *Server) advertise(l config.Listener, bound net.Addr) (metadata.Endpoint, error) {
	port := bound.(*net.TCPAddr).Port
	for _, a := range s.cfg.Network.Advertised {
		if a.Name == l.Name {
			l.Host = a.Host
			if a.Port != 0 {
				port = a.Port
			}
		}
	}
	if ip := net.ParseIP(l.Host); l.Host == "" || ip != nil && ip.IsUnspecified() {
		host, err := os.Hostname()
		if err != nil {
			return metadata.Endpoint{}, fmt.Errorf("listener %s is on every address; set advertised.listeners to what clients connect to: %w", l.Name, err)
		}
		l.Host = host
	}
	return metadata.Endpoint{Name: l.Name, Host: l.Host, Port: uint16(port)}, nil
}

// Addrs returns the addresses that the broker listens on, in the order of its listeners.
func (s *Server) Addrs() []net.Addr { return s.net.Addr() }

// MetricsAddr returns where metrics are served, or nil.
func (s *Server) MetricsAddr() net.Addr {
	if s.metrics == nil {
		return nil
	}
	return s.metrics.Addr()
}

// Dir returns the log directory.
func (s *Server) Dir() string { return s.dir }

// ClusterID returns the id of the broker's cluster.
func (s *Server) ClusterID() string { return s.meta.Image().ClusterID }

// Close stops the broker in order: requests that were accepted are answered, as long as ctx allows, records are
// flushed, and the directory is as after an orderly stop. Called again it returns what it returned first.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.broker.Stopping()
		s.offsets.Close()
		err := s.net.Shutdown(ctx)
		failed := s.failure()
		s.closed = errors.Join(err, s.release())
		s.ending.because(failed)
	})
	return s.closed
}

// abandon closes what a start that failed has opened.
func (s *Server) abandon() error {
	if s.net != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.net.Shutdown(ctx) // says that ctx has ended
	}
	if s.offsets != nil {
		s.offsets.Close()
	}
	return s.release()
}

// release closes what clients do not see: first the metadata, whose changes need the engine.
func (s *Server) release() (err error) {
	if s.metrics != nil {
		s.metrics.Close()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.naming.Wait()
	if s.meta != nil {
		err = s.meta.Close()
	}
	s.dynamic.lookUps.Wait() // none begins once the metadata is closed
	if s.engine != nil {
		err = errors.Join(err, s.engine.Close())
	}
	if s.broker != nil {
		s.broker.Close() // after the engine, whose last completions may still give its workers something to do
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
