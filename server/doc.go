// Package server is the broker: it joins the engine, the metadata log and the network, and can be embedded in any Go
// program.
//
//	s, err := server.Start(ctx, server.Options{Config: cfg, Logger: slog.Default()})
//	...
//	err = s.Close(ctx)
//
// It holds the wiring and nothing else. Its rooms:
//
//	api        one file for each Kafka API, its key first
//	wire       frames to requests, in order for each connection
//	partition  the partitions of this broker, as the metadata image says
//	offsets    __consumer_offsets: where groups keep what must last
//	group      the coordinator of classic groups
//	config     the table of Kafka's keys, and server.properties
//
// It changes nothing of the process: no signal, no GOMAXPROCS, no default logger. Several brokers may run in one
// process, each on its own directory and port.
package server
