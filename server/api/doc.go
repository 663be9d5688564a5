// Package api is the Kafka APIs that the broker serves: one file for each, its key first, which opens with the versions
// that it serves and what matters of its behaviour. A handler parses a request, decides by the metadata image, the partitions
// and the coordinators, and answers; it keeps no state of its own but for fetch sessions.
//
// Table lists them all. ApiVersions, the documentation and the tests read it.
package api
