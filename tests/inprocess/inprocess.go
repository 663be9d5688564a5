// Package inprocess starts a broker in the process of a test, on a free port. Package tests/broker starts a process.
package inprocess

import (
	"context"
	"testing"
	"time"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/tests/raw"
)

// Try starts a broker on a directory, with settings as KEY=VALUE. A first member of a group does not wait for others.
func Try(ctx context.Context, dir string, log *raw.Log, set ...string) (*server.Server, error) {
	static, err := config.Load(config.Options{
		Set:   append([]string{"group.initial.rebalance.delay.ms=0"}, set...),
		Flags: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": dir},
	})
	if err != nil {
		return nil, err
	}
	return server.Start(ctx, server.Options{Config: static, Logger: log.Logger()})
}

// Stop stops a broker in order. Twice is once.
func Stop(t testing.TB, s *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}
