package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/api"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// Source is what metrics are of. All fields are required.
type Source struct {
	Requests   *wire.Stats
	Appends    *api.AppendStats
	Storage    *Storage
	Net        *netio.Server
	Dirs       *logdir.Set
	Metadata   *metadata.Node
	Partitions *partition.Table
	// Health returns why the broker cannot go on, or nil.
	Health func() error
	Log    *slog.Logger
}

// A Server answers scrapes.
type Server struct {
	ln   net.Listener
	http http.Server
	done chan struct{}
}

// Listen serves metrics at an address, HOST:PORT, until Close.
func Listen(addr string, source Source) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("zurau.metrics.listener %s: %w", addr, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{source}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// Two scrapers, and one that is retrying: what is asked for beyond that waits for nothing.
		MaxRequestsInFlight: 3, Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := source.Health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	s := &Server{ln: ln, done: make(chan struct{}), http: http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(source.Log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			source.Log.Error("metrics are not served any more", "address", ln.Addr(), "error", err)
		}
	}()
	source.Log.Info("serving metrics", "url", "http://"+ln.Addr().String()+"/metrics")
	return s, nil
}

// Addr is where metrics are served.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Close stops serving. A scrape that is under way is cut off.
func (s *Server) Close() {
	_ = s.http.Close() // of connections that nobody needs any more
	<-s.done
}
