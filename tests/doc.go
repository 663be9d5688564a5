// Package tests holds what is tested on zurau as a whole. Each package of the project has its own tests beside its
// code; here are those that need more than one room:
//
//	house        the arrows between the rooms, and the pages at the root, are as they say
//	broker       a zurau process for a test: built, started, killed, started again (not a test by itself)
//	inprocess    a broker in the test's own process (likewise)
//	raw          connections that say what they like, and other things that tests share (likewise)
//	clients      franz-go, sarama and kafka-go against a zurau process
//	kill         a zurau process that is killed while it is written to
//	directories  log directories go from Apache Kafka to zurau and back
//	embed        the programs of the README that embed the engine, or a broker
//	readers      clients that read slowly, or never, among others
//	powerloss    logs on file systems that lose their power; a module of its own
//	transactions a directory of Apache Kafka with transactions, beside what Kafka says of it
//
// All but those that need Kafka run in `go test ./...`, with nothing but Go installed; transactions, powerloss and most of directories are steps of .ci/run. They
// wait for events (the broker's ready line, an answer), never for a length of time, and assert nothing about speed. Two
// variables change what they do:
//
//	ZURAU_BINARY=FILE  test this binary, not one that is built from the tree
//	ZURAU_LONG=1       as many rounds, clients and bytes as a release wants, instead of a few seconds' worth
package tests
