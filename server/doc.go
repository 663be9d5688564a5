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
//	logdir     the log directories, an engine each
//	partition  the partitions of this broker, as the metadata image says
//	offsets    __consumer_offsets: where groups keep what must last
//	group      the coordinator of classic groups
//	config     the table of Kafka's keys, and server.properties
//	metrics    what an operator watches
//	control    the socket by which commands on this machine ask
//
// # Log directories
//
// Each directory has an engine, an id in meta.properties, and a mark (zurau-directory) that it was used. One of them has the metadata: where it is
// found, else metadata.log.dir, else the first. What a directory is at a start, and what happens:
//
//	cannot be read, locked or recovered (an error of the file system)    offline: its partitions have no leader; the others go on
//	the same, of the metadata's directory or at the very first start     refused
//	in use; of another node, cluster; a copy; given twice                refused
//	two folders of one partition                                         refused
//	a backup that was not finished (engine.Unfinished)                   refused
//	new, or empty                                                        taken, with an id of its own
//	fails while the broker runs                                          offline until the next start; Done where it has the metadata
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
// zurau-directory and folders are looked for in all directories, Kafka's metadata where metadata.log.dir says or in any.
// The import is one entry of the metadata's log: a kill leaves all of it or nothing. At every start leader epochs go on from
// those in the logs, and folders that Kafka has set aside are taken back: it may have had the directory in between.
//
// Logs are open before the metadata is followed. Until then they are kept as its files say, and nothing of them is deleted.
//
// It changes nothing of the process: no signal, no GOMAXPROCS, no default logger. Several brokers may run in one
// process, each on its own directory and port.
package server
