// Package readers tests that clients which do not take their answers harm nobody: they cost the broker a bounded amount of
// memory, and those that do take them get all that they ask for.
package readers
