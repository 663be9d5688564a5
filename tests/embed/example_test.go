// Package embed holds the programs of the README that embed a part of zurau: they are compiled and run as they stand there.
package embed

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
)

func Example_engine() {
	dir := temporary()
	defer os.RemoveAll(dir)

	e, err := engine.Open(engine.Options{Dir: dir})
	check(err)
	defer e.Close()
	l, err := e.Create(engine.Name{Topic: "events"}, [16]byte{}, engine.Config{FlushMessages: 1}) // acknowledged when flushed
	check(err)

	now := time.Now().UnixMilli()
	batch := record.NewBuilder(record.Zstd).Add(now, []byte("key"), []byte("value")).Bytes()
	var p record.Prepared
	check(p.Prepare(batch, record.DefaultRules(now)))
	done := make(chan engine.Appended, 1)
	l.Append(&p, 0, func(a engine.Appended) { done <- a }) // never waits for the disk
	a := <-done
	check(a.Err)

	r, err := l.Read(a.BaseOffset, 1<<20, true) // r.File, r.Position and r.Size are for sendfile
	check(err)
	defer r.Release()
	b, err := r.Bytes()
	check(err)

	first, _, err := record.Next(b)
	check(err)
	for rec, err := range first.Records(0) {
		check(err)
		fmt.Printf("%d: %s=%s\n", rec.Offset, rec.Key, rec.Value)
	}
	// Output: 0: key=value
}

// A test and no example: the port is another one in every run.
func TestABrokerRunsAsTheReadmeSays(*testing.T) {
	dir, ctx := temporary(), context.Background()
	defer os.RemoveAll(dir)

	cfg, err := config.Load(config.Options{Set: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir}})
	check(err)
	s, err := server.Start(ctx, server.Options{Config: cfg, Logger: slog.Default()})
	check(err)
	fmt.Println("clients connect to", s.Addrs()[0])
	check(s.Close(ctx))
}

func temporary() string {
	dir, err := os.MkdirTemp("", "zurau")
	check(err)
	return dir
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
