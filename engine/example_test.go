package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/engine/record"
)

// now is the wall clock in these programs, in ms.
const now = 1_700_000_000_000

// batch prepares some values as one record batch.
func batch(values ...string) *record.Prepared {
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Add(now, nil, []byte(v))
	}
	p := new(record.Prepared)
	if err := p.Prepare(b.Bytes(), record.DefaultRules(now)); err != nil {
		log.Fatal(err)
	}
	return p
}

// appendAndWait appends and returns when what the log's mode promises has happened.
func appendAndWait(l *engine.Log, values ...string) engine.Appended {
	done := make(chan engine.Appended, 1)
	l.Append(batch(values...), 0, func(a engine.Appended) { done <- a })
	return <-done
}

// printFrom prints the records from an offset on and returns the offset behind them.
func printFrom(l *engine.Log, offset int64) int64 {
	r, err := l.Read(offset, 1<<20, true)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Release()
	b, err := r.Bytes() // a server would hand r.File, r.Position and r.Size to sendfile
	if err != nil {
		log.Fatal(err)
	}
	for len(b) > 0 {
		var batch record.Batch
		if batch, b, err = record.Next(b); err != nil {
			break // cut off by the limit
		}
		for rec, err := range batch.Records(0) {
			if err != nil {
				log.Fatal(err)
			}
			if rec.Offset >= offset { // the first batch may begin earlier
				fmt.Println(rec.Offset, string(rec.Value))
			}
		}
		offset = batch.LastOffset() + 1
	}
	return offset
}

// Append to a log and read it.
func Example() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	l, err := e.Create(engine.Name{Topic: "orders"}, [16]byte{}, engine.Config{FlushMessages: 1})
	if err != nil {
		log.Fatal(err)
	}
	a := appendAndWait(l, "one", "two")
	fmt.Println("offsets", a.BaseOffset, "to", a.LastOffset, "are on stable storage:", a.Err == nil)
	appendAndWait(l, "three")
	printFrom(l, 1)
	at, err := l.OffsetForTime(now)
	fmt.Println("first record of that time:", at.Offset, err)
	fmt.Println(e.Close())
	// Output:
	// offsets 0 to 1 are on stable storage: true
	// 1 two
	// 2 three
	// first record of that time: 0 <nil>
	// <nil>
}

// Follow a log: the loop waits at its end for what is appended, and is over when the context is.
func ExampleLog_Follow() {
	dir, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	l, err := e.Create(engine.Name{Topic: "orders"}, [16]byte{}, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for i := range 5 {
			appendAndWait(l, fmt.Sprint("order ", i))
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for r, err := range l.Follow(ctx, 0) {
		if err != nil {
			fmt.Println("the end:", err)
			break
		}
		fmt.Println(r.Offset, string(r.Value))
		if r.Offset == 4 {
			cancel() // as a client does that hangs up
		}
	}
	// Output:
	// 0 order 0
	// 1 order 1
	// 2 order 2
	// 3 order 3
	// 4 order 4
	// the end: context canceled
}

// Crash and recover, on a disk in memory that forgets what was not flushed.
func Example_crash() {
	disk := fs.NewCrash(1)
	e, err := engine.Open(engine.Options{Dir: "logs", FS: disk, CheckpointInterval: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	for topic, c := range map[string]engine.Config{"sync": {FlushMessages: 1}, "async": {}} {
		l, err := e.Create(engine.Name{Topic: topic}, [16]byte{}, c)
		if err != nil {
			log.Fatal(err)
		}
		appendAndWait(l, "first")
		if err := l.Flush(); err != nil {
			log.Fatal(err)
		}
		appendAndWait(l, "second")
	}
	left := disk.Clone(fs.DropUnflushed) // the power goes
	e.Close()

	e, err = engine.Open(engine.Options{Dir: "logs", FS: left})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	fmt.Println("orderly stop:", e.Recovery().Clean)
	for _, topic := range []string{"sync", "async"} {
		l, _ := e.Log(engine.Name{Topic: topic})
		fmt.Println(topic, l.LogEndOffset())
		printFrom(l, 0)
	}
	// Output:
	// orderly stop: false
	// sync 2
	// 0 first
	// 1 second
	// async 1
	// 0 first
}
