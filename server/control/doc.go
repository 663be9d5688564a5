// Package control is how the commands of this machine ask a broker that runs: a unix socket that is named for the log directory with
// the metadata, and HTTP on it. The broker's user and root may ask for everything, and nobody else for anything: there is no port and
// nothing to set up.
//
//	POST /backup   BackupRequest → lines of JSON: how far it is, at last the backups or the error
//
// A request that nobody waits for any more ends: a command that is killed, or interrupted, takes its work back.
//
// The socket is no file: it goes with the process that has it, and there is one for each network namespace. A command in another one
// than the broker's, outside its container say, finds nobody.
//
// This package knows the socket and the words; what is done is package server's.
package control
