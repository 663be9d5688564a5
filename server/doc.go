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
// # The first start on a directory
//
//	zurau-directory  zurau-metadata.*  __cluster_metadata-0  folders   then
//	any              there             any                   any       that metadata counts
//	there            none              any                   any       refused: it was lost
//	none             none              can be read           any       Kafka's is imported, once (replication/metadata/kraft)
//	none             none              missing, corrupt,     there     topics are adopted from the folders, and keep all records
//	                                   or of a newer Kafka
//	none             none              missing               none      a new cluster
//
// The import is one entry of the metadata's log: a kill leaves all of it or nothing. At every start leader epochs go on from
// those in the logs, and folders that Kafka has set aside are taken back: it may have had the directory in between.
//
// It changes nothing of the process: no signal, no GOMAXPROCS, no default logger. Several brokers may run in one
// process, each on its own directory and port.
package server
