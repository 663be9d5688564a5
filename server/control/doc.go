// Package control is how the commands of this machine ask a broker that runs: a unix socket at the root of the log directory with
// the metadata, and HTTP on it. Whoever may open the socket, which is the broker's user and root, may ask for everything: there is no other
// access control, no port and nothing to set up.
//
//	POST /backup   BackupRequest → lines of JSON: how far it is, at last the backups or the error
//
// A request that nobody waits for any more ends: a command that is killed, or interrupted, takes its work back.
//
// The socket is made anew at each start, by whoever has the directory's lock, and removed at an orderly stop. One that a kill has left
// answers nobody. Apache Kafka looks at folders alone, and leaves it.
//
// This package knows the socket and the words; what is done is package server's.
package control
