package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Broker does what is asked.
type Broker struct {
	// Backup makes a backup. It ends with its context.
	Backup func(context.Context, BackupRequest, Progress) ([]Backup, error)
	Log    *slog.Logger
}

// A Server answers what commands ask.
type Server struct {
	broker Broker
	http   http.Server
	end    context.CancelCauseFunc
	asked  sync.WaitGroup
	done   chan struct{}
}

// errStopping is what a request is told that a stop of the broker cuts off.
var errStopping = errors.New("the broker is stopping")

// Listen answers at the socket of a log directory, until Close. The caller has the directory's lock.
func Listen(dir string, b Broker) (*Server, error) {
	ln, err := listen(dir)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(context.Background())
	s := &Server{broker: b, end: end, done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) { s.backup(ctx, w, r) })
	s.http = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(b.Log.Handler(), slog.LevelDebug)}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			b.Log.Error("commands on this machine are not answered any more", "dir", dir, "error", err)
		}
	}()
	return s, nil
}

// Close ends what is asked, which is told so, and stops listening.
func (s *Server) Close() {
	s.end(errStopping)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // of those who do not read what they asked for
	}
	<-s.done
	s.asked.Wait()
}

// maxRequest bounds a request in bytes: a few paths.
const maxRequest = 1 << 20

// progressInterval is how often who waits is told how far it is.
const progressInterval = 200 * time.Millisecond

// backup makes a backup for as long as somebody waits for it. stopping ends with the broker.
func (s *Server) backup(stopping context.Context, w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	defer s.asked.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest)) // all of it: only then its context ends with the connection
	var req BackupRequest
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(stopping, func() { cancel(context.Cause(stopping)) })()
	var done, total atomic.Int64
	ended := make(chan line, 1)
	go func() {
		backups, err := s.broker.Backup(ctx, req, func(d, t int64) {
			total.Store(t)
			done.Store(d)
		})
		last := line{Backups: backups}
		if err != nil {
			last = line{Error: err.Error()}
		}
		ended <- last
	}()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	out, now := json.NewEncoder(w), http.NewResponseController(w)
	for {
		select {
		case last := <-ended:
			_ = out.Encode(last) // whoever has gone does not read it
			return
		case <-tick.C:
			if out.Encode(line{Done: done.Load(), Total: total.Load()}) != nil || now.Flush() != nil {
				cancel(context.Canceled)
			}
		}
	}
}
