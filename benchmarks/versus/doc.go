// Versus measures zurau beside Apache Kafka, on one machine in one run, and prints ratios first.
//
//	go run ./benchmarks/versus kafka [--rows P1a,P2,...] [--rounds N] [--secs N] [--quick] [--markdown] [--check]
//	go run ./benchmarks/versus embedded [--rounds N] [--secs N] [--quick] [--markdown] [--check]
//	go run ./benchmarks/versus report [--markdown] [--check] FILE.jsonl...     the tables of earlier runs
//
// A round goes over the rows; a row is a trial of each broker, one after the other, the order changing from round to
// round and from row to row. A trial starts its broker on a fresh directory, warms it up (runs of the same work that are
// thrown away, until one is no longer 5 % better than the best before it: the JIT has settled), measures once, stops the
// broker and removes the directory. Ratios are made within a round and their medians are taken over the rounds, with
// minimum and maximum.
//
// The load comes from oracle/load, the same pre-encoded bytes for both; oracle/limit beside it shows what this machine
// gives a process that does nothing but the unavoidable work. Both are built from a copy, so that nothing is written
// next to their sources. They and Kafka's start script are looked for in ../shared beside the repository, or where
// --shared says.
//
// Every run, warm-ups too, is a JSON line in benchmarks/results, with the load average before and after it and what the
// rest of the machine used meanwhile. Progress goes to standard error, tables to standard output. Exit status is 0, 1
// when something failed or --check missed a floor, and 2 for bad usage.
//
// What it started it stops, by process id, on SIGINT, SIGTERM and SIGHUP as well.
//
// # Files
//
//	main.go     the command line
//	embedded.go the comparison with embedded stores, which is a module of its own in embedded/
//	tools.go    the repository, ../shared, and the programs built from them
//	broker.go   starting and stopping the two brokers
//	rows.go     the rows of the comparison
//	many.go     the rows about many partitions and about recovery
//	trial.go    one broker, one row: warm-up, measurement
//	rounds.go   all trials in turn
//	drive.go    one run of the load or limit tool, and what the machine did meanwhile
//	facts.go    versions of what is compared
//	proc.go     child processes in groups of their own
//	lines.go    figures of a run in a line
//	floors.go   what must be reached
//	report.go   the tables
//
// Facts of the machine, JSON lines, spreads and tables are benchmarks/machine's and benchmarks/results'.
package main
