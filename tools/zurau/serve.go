package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
)

// stopTime is how long a stop waits for answers to leave before it closes the connections.
const stopTime = 5 * time.Second

type serveFlags struct {
	listen, data, metrics, level string
	set                          []string
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [FILE.properties]",
		Short: "Run a broker",
		Long: `Run a broker, which is also its own controller, on 127.0.0.1:9092 with its data in ./zurau-data.

When clients can connect it prints one line on standard output, "ready HOST:PORT"; the log goes to standard error.
SIGTERM and SIGINT stop it in order; a second one stops it at once, as a crash would. When a write or a flush of the
data directory fails, the broker stops with exit status 1, and a start recovers. With several directories it goes on with
the others, unless it was the one with the metadata.

Settings have Kafka's names. --set wins over the environment (ZURAU_LOG_RETENTION_HOURS=24), and that over the file.`,
		Example: `  zurau serve
  zurau serve --listen 0.0.0.0:9092 --data /var/lib/zurau --set log.retention.hours=24
  zurau serve --data /disk1/zurau,/disk2/zurau
  zurau serve server.properties`,
		Args: argsBetween(0, 1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().StringVar(&f.listen, "listen", "", "`HOST:PORT` to listen on (default 127.0.0.1:9092)")
	c.Flags().StringVar(&f.data, "data", "", "`DIR` of the data, or several with commas between (default ./zurau-data)")
	c.Flags().StringVar(&f.metrics, "metrics-listen", "", "`HOST:PORT` to serve metrics on for Prometheus, at /metrics (default none)")
	c.Flags().StringArrayVar(&f.set, "set", nil, "a setting, `KEY=VALUE`; may be repeated")
	c.Flags().StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	return c
}

func (f *serveFlags) run(c *cobra.Command, args []string) error {
	// A commit that waits behind a busy goroutine waits a time slice of 10 ms: two more processors than there are keep
	// one free for it. The variable is the operator's to set.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	}
	log, err := logger(f.level)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	static, err := f.load(args)
	if err != nil {
		return err
	}
	for _, w := range static.Warnings() {
		log.Warn(w)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	s, err := server.Start(c.Context(), server.Options{Config: static, Logger: log})
	if err != nil {
		return err
	}
	if _, err := fmt.Printf("ready %s\n", s.Addrs()[0]); err != nil {
		log.Warn("could not say that the broker is ready", "error", err)
	}
	select {
	case sig := <-signals:
		log.Info("stopping", "signal", sig.String())
	case <-s.Done():
		err = s.Err()
	}
	go func() {
		<-signals
		os.Exit(exitFailed)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	cerr := s.Close(ctx)
	if err != nil {
		return err // what the directory's failure makes of a stop says nothing new
	}
	if errors.Is(cerr, context.DeadlineExceeded) {
		log.Warn("stopped with answers that no client took", "waited", stopTime)
		cerr = nil
	}
	return cerr
}

// check tells bad usage from bad values, which the table of keys knows.
func (f *serveFlags) check() error {
	for _, at := range []struct{ flag, value string }{{"listen", f.listen}, {"metrics-listen", f.metrics}} {
		if at.value == "" {
			continue
		}
		_, port, err := net.SplitHostPort(at.value)
		if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
			return usagef("--%s %q: want HOST:PORT", at.flag, at.value)
		}
	}
	_, err := pairs("set", f.set)
	return err
}

// load reads the configuration.
func (f *serveFlags) load(args []string) (*config.Static, error) {
	o := config.Options{Environ: os.Environ(), Set: f.set, Flags: map[string]string{}}
	if len(args) == 1 {
		o.File = args[0]
	}
	if f.listen != "" {
		o.Flags["listeners"] = "PLAINTEXT://" + f.listen
	}
	if f.metrics != "" {
		o.Flags["zurau.metrics.listener"] = f.metrics
	}
	if f.data != "" {
		o.Flags["log.dirs"] = f.data
	}
	return config.Load(o)
}

func logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level %q: want debug, info, warn or error", level)}
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}
