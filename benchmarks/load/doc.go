// Package load makes requests and says what they took, without telling itself stories.
//
// # Open and closed
//
// A closed loop makes its next request when the one before is done: it measures throughput, and its latency is that of a
// system which is never asked for more than it gives. An open loop makes requests when they are due, whether the system keeps up or
// not. Its latency counts from when a request was due, not from when it could be sent, so that a stall counts for
// everybody who would have come meanwhile; without that, one request stands for a hundred (coordinated omission).
// A stream makes one request at a time; with all streams busy, due requests wait their turn, and that waiting counts; what
// was due and could not be sent before the run ended counts with the latency that it had by then. How late requests started is kept
// apart (Late): where the client itself has no processor left, it shows there.
//
// # Time of a run
//
//	start ──── warm-up ────┬──────────── measured ────────────┬── the rest is waited for
//	           not counted │ throughput: what ends in here    │
//	                       │ latency: what was due in here    │ also where it ends later
//
// The warm-up is as long as it is told, or lasts until the rate of three windows in a row differs by less than a tenth, with a
// limit. Afterwards the rate's slope over the measured time says whether it was steady: Drift is the rise of the line through the
// slices' rates from one end of the run to the other, as part of their mean.
//
// # Histograms
//
// Latencies go into HdrHistogram's form with three digits, from 1 µs to 100 s; longer ones count as 100 s.
package load
