// Command eventlog is a durable event log behind HTTP, to show how a server embeds package engine:
//
//	eventlog --dir ./events --listen 127.0.0.1:8080
//
//	POST /TOPIC                 a record for each line of the body; answers with the offset of the last one when all are on stable
//	                            storage: {"offset":41}
//	GET  /TOPIC?from=N          the records from an offset on, one JSON object a line: {"offset":7,"time":1700000000000,"value":"..."}
//	GET  /TOPIC?from=N&follow=1 goes on with what is to come, until the client hangs up
//
// When it serves it prints one line, "ready HOST:PORT". SIGINT and SIGTERM stop it in order. It has no authentication.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

// maxLine bounds a line of a request, and with it a record.
const maxLine = 512 << 10

// flushed is how all logs are configured: acknowledged when on stable storage, and kept for ever.
var flushed = engine.Config{FlushMessages: 1, RetentionAge: -1}

func main() {
	dir := flag.String("dir", "events", "directory of the logs")
	listen := flag.String("listen", "127.0.0.1:8080", "HOST:PORT")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *listen); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done or the directory fails.
func run(ctx context.Context, dir, listen string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	e, err := engine.Open(engine.Options{
		Dir:       dir,
		Logger:    slog.Default(),
		OnFailure: func(err error) { fail(err) }, // a supervisor starts it again, which recovers
		LogConfig: func(engine.Name) engine.Config { return flushed },
	})
	if err != nil {
		return err
	}
	s := &server{engine: e, topics: map[string]*topic{}}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return errors.Join(err, e.Close())
	}
	web := http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // so that followers end with it
	}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		wait, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = web.Shutdown(wait) // what is cut off by it was not answered
	})
	fmt.Println("ready", ln.Addr())
	if err := web.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		fail(err)
	}
	<-stopped // Serve does not wait for the requests that are to be answered
	err = s.close()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// A server answers requests from the logs of an engine.
type server struct {
	engine *engine.Engine

	mu     sync.Mutex
	topics map[string]*topic
	closed bool
}

// A topic is a log and its front for single records.
type topic struct {
	log *engine.Log
	in  *engine.Batcher
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{topic}", s.post)
	mux.HandleFunc("GET /{topic}", s.get)
	return mux
}

// topic returns a topic, which it makes if it may.
func (s *server) topic(name string, create bool) (*topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[name]; t != nil {
		return t, nil
	}
	if s.closed {
		return nil, engine.ErrClosed
	}
	n := engine.Name{Topic: name}
	l, ok := s.engine.Log(n)
	if !ok && !create {
		return nil, errUnknown
	}
	if !ok {
		var err error
		if l, err = s.engine.Create(n, [16]byte{}, flushed); err != nil {
			return nil, err
		}
	}
	in, err := l.NewBatcher(engine.BatcherOptions{Compression: record.LZ4})
	if err != nil {
		return nil, err
	}
	s.topics[name] = &topic{l, in}
	return s.topics[name], nil
}

var (
	errUnknown = errors.New("no such topic")
	errEmpty   = errors.New("no line, and so no record, in the body")
)

// close brings everything that was taken to stable storage.
func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range s.topics {
		_ = t.in.Close() // each request was told of its own errors
	}
	return s.engine.Close()
}

// post appends the lines of the body. It answers when all are on stable storage; after an error some of them may be.
func (s *server) post(w http.ResponseWriter, r *http.Request) {
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, maxLine)
	more := lines.Scan()
	if !more {
		refuse(w, cmp.Or(lines.Err(), errEmpty))
		return
	}
	t, err := s.topic(r.PathValue("topic"), true)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // a stop waits for what it has begun
	var all []engine.Future                   // appended together, not one after the other
	for ; more; more = lines.Scan() {
		all = append(all, t.in.Append(ctx, record.Record{Value: lines.Bytes()}))
	}
	err, last := lines.Err(), int64(-1)
	for _, f := range all {
		offset, ferr := f.Wait(ctx)
		err, last = errors.Join(err, ferr), offset
	}
	if err != nil {
		refuse(w, err)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]int64{"offset": last}) // whoever has hung up does not read it
}

// An event is a record as readers get it.
type event struct {
	Offset int64  `json:"offset"`
	Time   int64  `json:"time"` // ms
	Value  string `json:"value"`
}

// get sends records: up to the present end, or for as long as the client listens. An error in the midst of them is an object, too.
func (s *server) get(w http.ResponseWriter, r *http.Request) {
	t, err := s.topic(r.PathValue("topic"), false)
	if err != nil {
		refuse(w, err)
		return
	}
	from := t.log.LogStartOffset()
	if text := r.FormValue("from"); text != "" {
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			http.Error(w, "from is no offset: "+text, http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	follow, end := r.FormValue("follow") == "1", t.log.HighWatermark()
	if !follow && from == end {
		return
	}
	out, web := json.NewEncoder(w), http.NewResponseController(w)
	if follow {
		_ = web.Flush() // the client learns that it follows, be there a record or not
	}
	for rec, err := range t.log.Follow(r.Context(), from) {
		if err != nil {
			if r.Context().Err() == nil {
				_ = out.Encode(map[string]string{"error": err.Error()})
			}
			return
		}
		if err := out.Encode(event{rec.Offset, rec.Timestamp, string(rec.Value)}); err != nil {
			return // the client has gone
		}
		if rec.Offset+1 >= end { // there may be no more for a while
			if end = t.log.HighWatermark(); !follow {
				return
			}
			_ = web.Flush() // the next write says that the client has gone
		}
	}
}

// refuse answers a request that has failed.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errUnknown):
		status = http.StatusNotFound
	case errors.Is(err, engine.ErrNoSpace):
		status = http.StatusInsufficientStorage
	case errors.Is(err, engine.ErrOffline), errors.Is(err, engine.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), status)
}
