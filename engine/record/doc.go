// Package record reads, checks, converts and builds Kafka's record batches.
package record
