package engine_test

import (
	"fmt"
	"log"
	"os"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
)

// A transaction's records are in the log at once. A reader of committed records sees them when the transaction has ended, and is
// told which were aborted.
func ExampleLog_ReadCommitted() {
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	l, err := e.Create(engine.Name{Topic: "payments", Partition: 0}, [16]byte{1}, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	appendAndWait(l, "nobody's")
	inTransaction(l, 7, "taken from A", "given to B")
	fmt.Println("end", l.LogEndOffset(), "stable", l.LastStableOffset())

	done := make(chan engine.Appended, 1)
	l.AppendMarker(engine.Marker{ProducerID: 7, Commit: false}, 0, func(a engine.Appended) { done <- a })
	if a := <-done; a.Err != nil {
		log.Fatal(a.Err)
	}
	c, err := l.ReadCommitted(0, 1<<20, true)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Release()
	fmt.Println("end", l.LogEndOffset(), "stable", c.LastStableOffset)
	for _, t := range c.Aborted {
		fmt.Println("aborted: what producer", t.ProducerID, "wrote from offset", t.FirstOffset, "on")
	}
	// Output:
	// end 3 stable 1
	// end 4 stable 4
	// aborted: what producer 7 wrote from offset 1 on
}

// inTransaction appends records of a producer's transaction, its first ones.
func inTransaction(l *engine.Log, producer int64, values ...string) {
	b := record.NewBuilder(record.None).Producer(producer, 0, 0)
	b.Transactional = true
	for _, v := range values {
		b.Add(now, nil, []byte(v))
	}
	var p record.Prepared
	if err := p.Prepare(b.Bytes(), record.DefaultRules(now)); err != nil {
		log.Fatal(err)
	}
	done := make(chan engine.Appended, 1)
	l.Append(&p, 0, func(a engine.Appended) { done <- a })
	if a := <-done; a.Err != nil {
		log.Fatal(a.Err)
	}
}
