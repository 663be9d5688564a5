// Package raw is for tests that say to a server what they like: connections that send and take frames, with or without
// the structures of a request around them, and a log that can be looked at while it is written. It imports nothing of the
// project, so that the tests of every package can use it.
package raw
