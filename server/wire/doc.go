// Package wire turns the frames of a connection into requests, gives each to the handler of its API, and turns answers
// into frames again. It knows the headers of the Kafka protocol and the order in which requests of one connection may
// run; what an API means is its handler's business (server/api).
//
//	request   | int16 key | int16 version | int32 correlation id | nullable string client id | tags (flexible versions) | body
//	answer    | int32 size | int32 correlation id | tags (flexible versions, but for ApiVersions) | body
//
// # Order
//
// Requests of one connection start in the order of arrival, and answers leave in that order. Produce and Fetch may
// overlap (Handler.Overlaps): the next request starts when the one before has started, not when it was answered. Every
// other request waits for the answers of those before it, and those behind it wait for its own.
//
// Whoever answers a request does not run what waited for that: it may be a writer of the engine, or hold locks.
//
// # Bad input
//
// What cannot be parsed closes its connection and no other: the protocol has no answer to it. An API or a version that
// is not served does so too, but for ApiVersions, which answers in version 0 what it serves (KIP-511). What was sent
// behind it does not start. The structures that requests are decoded into are bounded: see limit.go.
//
// A handler that panics loses its connection, not the process.
package wire
