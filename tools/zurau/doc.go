// Command zurau is a Kafka-wire-compatible commit log: the broker, and the tools for it. See zurau --help.
//
// Every command has a file of its own, named like it. A command that talks to a broker is a Kafka client like any other
// (franz-go): it works against Apache Kafka too. What reads files offline is in package tools/logfile; zurau log backup asks the
// broker that has the files by a socket (server/control).
//
// # Rules for all commands
//
//	exit status       0 done, 1 failed, 2 called wrongly
//	standard output   what was asked for: text for people, with --json one JSON object a line for programs
//	standard error    errors, notices, and progress when it is a terminal and the work is long
//	SIGINT, SIGTERM   stop in order; a second one stops at once
//	SIGPIPE           ends a command quietly, as it does cat(1)
//
// # Files
//
//	main.go           the command line and the exit status
//	flags.go          flags that several commands have
//	client.go         a client for the brokers of --bootstrap-server; errors with Kafka's names
//	session.go        what a short command has: client, time, output
//	offsets.go        requests that several commands make
//	interrupt.go      signals
//	progress.go       a bar or a count on standard error
//	output.go         standard output: buffered, JSON lines, tables, a reader that went away
//	serve.go          zurau serve
//	topic*.go         zurau topic
//	produce*.go       zurau produce: _records cuts the input, _send sends it
//	consume*.go       zurau consume: _where finds offsets, _run is the loop, _group what a group adds, _unseen looks behind
//	                  what holds no records, _format prints
//	log*.go           zurau log
//	bench*.go         zurau bench: _run measures, _modes compares flush modes, _results and _plot read what was measured
package main
