// Package suite runs a job of fio's at three levels: on the device (fio itself, or our own ring and calls), on the engine in
// process, and on a broker over the wire. What the disk gives, what the engine keeps of it, and what the network keeps of that
// stand beside each other because they come from one job.
//
// # What a job means to a log
//
// A file is a log (a partition). A write is an append of one batch of bs bytes, which counts when it is acknowledged as the job's
// sync says; a request in flight is a producer that waits for its acknowledgement. A read is a read of bs bytes from the log's start
// on, in order; each request in flight is a reader of its own. A reader of the file that another job of its stage writes is a
// consumer at the end of the log: its latency is from when a record was due to be appended until it was read, and the
// writer sets its pace.
//
//	direct, sync, fdatasync     the writer and the flush mode of the logs
//	ioengine                    of direct writes: io_uring, or plain calls (Options.NoRing)
//	size                        without time_based, what is appended in all; of readers, what is there before
//	overwrite, fallocate        the device's alone: an engine lays zeros where it finds that it pays
//
// Batches hold records of 1000 bytes (#zurau: record=), as far as they fill bs. They are made once; those that a consumer waits
// for are stamped with the time, and get their CRC, for each append.
//
// # What is measured
//
// Throughput and latencies of each job; CPU, resident memory, context switches and calls of the process that does the work, and of the client apart
// from it where they are two. In process there is only one: client and engine share what is counted. Usage is a stage's: jobs that run
// beside each other have one figure. Bytes at risk are those that are acknowledged and not yet flushed, looked at every 20 ms.
//
// Everything is made in a folder of the run, and removed with it.
package suite
