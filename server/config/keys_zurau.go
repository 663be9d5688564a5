package config

// zurauKeys are the keys of a broker that Kafka does not have.
var zurauKeys = []Key{
	{"zurau.connection.pending.bytes", Long, "67108864", atLeast(65536), Low, ReadOnly, Ours, "",
		"Bytes of answers that a connection may leave unread before no more of its requests are read."},
	{"zurau.connection.pending.requests", Int, "1024", between{1, 1000000}, Low, ReadOnly, Ours, "",
		"Requests of one connection that may be worked on before no more of them are read."},
	{"zurau.memory.bytes", Long, "-1", atLeast(-1), High, ReadOnly, Ours, "",
		"Memory for requests that are being worked on and for records that are not written yet. -1 takes a quarter of the host's memory, or of the control group's."},
	{"zurau.metrics.listener", String, "", nil, Low, ReadOnly, Ours, "",
		"HOST:PORT at which metrics are served over HTTP, in the text form of Prometheus, at /metrics; /healthz answers 200 while the broker can go on. Empty: nowhere. There is no access control: it is for an operator's network."},
	{"zurau.network.loops", Int, "0", between{0, 1024}, Low, ReadOnly, Ours, "",
		"Event loops for connections; 0 takes one for each processor."},
	{"zurau.read.workers", Int, "0", between{0, 4096}, Low, ReadOnly, Ours, "",
		"Reads at once of files that are not in memory, for each log directory; 0 chooses."},
	{"zurau.reserve.bytes", Long, "268435456", atLeast(0), Medium, ReadOnly, Ours, "",
		"Space on the file system of a log directory that appends leave free, so that recovery and deletion have room."},
	{"zurau.ring", String, "auto", oneOf{"auto", "on", "off"}, Low, ReadOnly, Ours, "",
		"Whether io_uring is used: auto where the kernel has it, on stops the start where it has not, off never. Without it the same bytes are written by plain system calls."},
	{"zurau.scrub.bytes.per.second", Long, "8388608", atLeast(0), Low, ReadOnly, Ours, "",
		"Bytes of records in a second that are read in the background in each log directory, and held against their checksums, those beside the segments too. " +
			"A log with records that are not what they were goes offline, and says where. 0: none."},
	{"zurau.scrub.interval.ms", Long, "604800000", atLeast(1), Low, ReadOnly, Ours, "",
		"Time from the beginning of one such pass over all records to that of the next."},
	{"zurau.stage.bytes", Long, "67108864", atLeast(0), Low, ReadOnly, Ours, "",
		"Bytes of memory, the page cache of the files zurau-stage of all log directories, in which the records of async topics are acknowledged before they are in their " +
			"segments. What is there outlives the process as what is written does. 0 is none: they are acknowledged when they are written."},
	{"zurau.sync.method", String, "auto", oneOf{"auto", "dsync", "fdatasync"}, Low, ReadOnly, Ours, "",
		"How a commit becomes durable: dsync flushes with the write (RWF_DSYNC), fdatasync after it, auto as was measured on the device."},
	{"zurau.writer", String, "auto", oneOf{"auto", "buffered", "direct"}, Medium, ClusterWide, Ours, "",
		"How logs are written: buffered (pwritev and fdatasync), direct (O_DIRECT through the ring), or auto, which is direct for sync logs and for async ones that are written in large pieces. A log changes at its next roll. Topics may have their own."},
	{"zurau.zero.ahead.bytes", Long, "1073741824", atLeast(0), Low, ReadOnly, Ours, "",
		"Space that is filled with zeros ahead of the logs which make small sync commits, over all logs and log directories. 0 switches it off."},
}
