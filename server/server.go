package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/api"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/control"
	"github.com/zurau/zurau/server/logdir"
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
	cfg      config.Broker
	log      *slog.Logger
	dirs     *logdir.Set
	metaDir  string                          // the log directory with the metadata
	openAs   func(engine.Name) engine.Config // how logs are opened
	failures chan int                        // numbers of directories that have failed; it has room for all
	meta     *metadata.Node
	broker   *api.Broker
	net      *netio.Server
	metrics  *metrics.Server // nil: none
	control  *control.Server // nil: none
	backup   sync.Mutex      // held by the one that is made
	storage  metrics.Storage // for it
	offsets  *offsets.Store
	cancel   context.CancelFunc
	beside   sync.WaitGroup // what runs beside the broker
	ending   ending
	dynamic  dynamic

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
	s.failures = make(chan int, 2*len(s.cfg.LogDirs)) // takeBack opens each once more
	static, err := s.openDirs(static)
	if err != nil {
		return err
	}
	if err := s.openMetadata(static); err != nil {
		return err
	}
	if err := s.takeBack(); err != nil {
		return err
	}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	stop, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.broker = &api.Broker{
		NodeID: s.cfg.NodeID, Metadata: s.meta, Dirs: s.dirs, Static: static, Log: s.log, Stop: stop,
		Partitions:  partition.New(s.cfg.NodeID, s.dirs, static, s.log),
		DiskReaders: int(s.cfg.Engine.ReadWorkers), FetchMaxBytes: s.cfg.Network.FetchMaxBytes,
		FetchSessions: int(orNever(int64(s.cfg.Network.FetchSessions))),
	}
	if err := s.broker.Partitions.Follow(s.meta); err != nil {
		return err
	}
	s.offsets = offsets.New(offsets.Options{Metadata: s.meta, Partitions: s.broker.Partitions, Config: s.cfg.Groups, Log: s.log})
	s.broker.Groups = s.offsets.Coordinator()
	s.offsets.Start()
	s.beside.Go(func() { s.nameOpenTransactions(stop) })
	if err := s.listen(); err != nil {
		return err
	}
	s.followConfig()
	if err := s.register(ctx, static); err != nil {
		return err
	}
	s.beside.Go(func() { s.watchDirs(stop) })
	s.listenForCommands()
	return nil
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

// openMetadata opens the metadata, and says in the directories whose they are now.
func (s *Server) openMetadata(static *config.Static) (err error) {
	if err := s.checkMetadata(); err != nil {
		return err
	}
	s.meta, err = metadata.Open(metadata.Options{Dir: s.metaDir, NodeID: s.cfg.NodeID, Logger: s.log,
		AtFirst: func() ([]metadata.Record, error) { return s.firstRecords(static) }})
	if err != nil {
		return err
	}
	go s.watchMetadata()
	s.identify()
	return s.writeMetas()
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
		Requests: h.Stats, Appends: s.broker.Appends, Storage: &s.storage, Net: s.net, Dirs: s.dirs, Metadata: s.meta, Partitions: s.broker.Partitions,
		Health: s.Err, Log: s.log,
	})
	return err
}

// register tells the cluster who and where this broker is.
func (s *Server) register(ctx context.Context, static *config.Static) error {
	s.tellLost()
	incarnation, err := metadata.NewID(random{})
	if err != nil {
		return err
	}
	b := metadata.Broker{ID: s.cfg.NodeID, Epoch: -1, Incarnation: incarnation, Rack: s.cfg.Rack, Directories: s.dirs.IDs()}
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

// Dirs returns the log directories.
func (s *Server) Dirs() []string { return s.cfg.LogDirs }

// ClusterID returns the id of the broker's cluster.
func (s *Server) ClusterID() string { return s.meta.Image().ClusterID }

// Close stops the broker in order: requests that were accepted are answered, as long as ctx allows, records are
// flushed, and the directories are as after an orderly stop. Called again it returns what it returned first.
func (s *Server) Close(ctx context.Context) error {
	s.closing.Do(func() {
		if s.control != nil {
			s.control.Close()
		}
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

// release closes what clients do not see: first the metadata, whose changes need the engines.
func (s *Server) release() (err error) {
	if s.metrics != nil {
		s.metrics.Close()
	}
	if s.cancel != nil {
		s.cancel()
	}
	s.beside.Wait()
	if s.meta != nil {
		err = s.meta.Close()
	}
	s.dynamic.lookUps.Wait() // none begins once the metadata is closed
	if s.broker != nil {
		s.broker.Partitions.Close() // nor does a deletion
	}
	err = errors.Join(err, s.closeDirs())
	if s.broker != nil {
		s.broker.Close() // after the engines, whose last completions may still give its workers something to do
	}
	return err
}
