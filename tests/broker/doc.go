// Package broker runs a real zurau process for a test: built once for each test binary, started on a free port and a
// directory of its own, stopped in order or killed, started again on the same ones.
//
//	func TestMain(m *testing.M) { os.Exit(broker.Main(m)) }
//
//	b := broker.Start(t, broker.Options{Set: []string{"flush.messages=1"}})
//	// clients connect to b.Addr
//	b.Kill(t)
//	b.Start(t)
//
// Start waits for the line that says that clients can connect; nothing here waits for a time.
package broker
