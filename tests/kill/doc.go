// Package kill tests that a zurau process may be killed at any moment: what was acknowledged is there when it comes back,
// in order, once where the producer is idempotent, in files that are whole.
//
// kill -9 leaves the page cache of the machine alone. So it shows that an answer waits for its write, and that recovery
// brings everything back; it cannot show that a flush happened. The engine's own tests do that, on a file system that
// forgets what was not flushed.
package kill
