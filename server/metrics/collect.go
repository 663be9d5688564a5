package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

// collector makes the metrics of one scrape.
type collector struct{ Source }

// Describe says nothing: what topics there are, and which errors, is not known before.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := scrape{out, map[string]*prometheus.Desc{}}
	c.requests(s)
	c.connections(s)
	c.logs(s)
	c.directories(s)
	c.storage(s)
}

// A scrape takes metrics. Labels are names and values in turn.
type scrape struct {
	out   chan<- prometheus.Metric
	descs map[string]*prometheus.Desc // by name
}

func (s scrape) desc(name, help string, labels []string) (*prometheus.Desc, []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	d := s.descs[name]
	if d == nil {
		d = prometheus.NewDesc("zurau_"+name, help, names, nil)
		s.descs[name] = d
	}
	return d, values
}

func (s scrape) gauge(name, help string, value float64, labels ...string) {
	d, values := s.desc(name, help, labels)
	s.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, values...)
}

func (s scrape) counter(name, help string, value float64, labels ...string) {
	d, values := s.desc(name, help, labels)
	s.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, values...)
}

func (s scrape) histogram(name, help string, h *wire.Histogram, labels ...string) {
	d, values := s.desc(name, help, labels)
	count, sum, upTo := h.Snapshot()
	s.out <- prometheus.MustNewConstHistogram(d, count, sum, upTo, values...)
}

func (c collector) requests(s scrape) {
	for key, k := range c.Requests.All() {
		api := kmsg.NameForKey(key)
		s.histogram("request_duration_seconds", "From the start of a request, in its turn, to its answer.", &k.Latency, "api", api)
		s.counter("request_bytes_total", "Bytes of requests.", float64(k.In.Load()), "api", api)
		s.counter("response_bytes_total", "Bytes of answers.", float64(k.Out.Load()), "api", api)
		for code, n := range k.Errors() {
			s.counter("request_errors_total", "Error codes in answers.", float64(n), "api", api, "error", errorName(code))
		}
	}
	const help = "From the start of the request to the acknowledgement of a batch: written where the topic is async, flushed where it is sync."
	s.histogram("append_duration_seconds", help, &c.Appends.Async, "mode", "async")
	s.histogram("append_duration_seconds", help, &c.Appends.Sync, "mode", "sync")
}

// errorName is Kafka's name of a code.
func errorName(code int16) string {
	if e, ok := kerr.ErrorForCode(code).(*kerr.Error); ok {
		return e.Message
	}
	return "UNKNOWN_SERVER_ERROR"
}

func (c collector) connections(s scrape) {
	st := c.Net.Stats()
	s.gauge("connections", "Connections that are open.", float64(st.Connections))
	s.counter("connections_accepted_total", "Connections that were let in.", float64(st.Accepted))
	s.counter("connections_moved_total", "Connections that were moved from an event loop to a goroutine, for leaving answers unread.", float64(st.Moved))
	for reason, n := range st.Closed {
		s.counter("connections_closed_total", "Connections that were closed, or refused (limit).", float64(n), "reason", netio.Reason(reason).String())
	}
	s.gauge("network_memory_bytes", "Bytes of frames and answers in memory.", float64(st.Memory))
}

func (c collector) logs(s scrape) {
	offline := 0
	for topic := range c.Metadata.Image().Topics("") {
		t := c.Partitions.ByName(topic.Name())
		if t == nil {
			continue // made or deleted at this moment
		}
		sum := sumOf(t)
		offline += sum.offline
		labels := []string{"topic", t.Name}
		s.gauge("topic_partitions", "Partitions of a topic.", float64(len(t.Partitions())), labels...)
		s.gauge("topic_log_bytes", "Bytes of a topic's logs.", float64(sum.bytes), labels...)
		s.gauge("topic_records", "Offsets between the start and the end of a topic's logs.", float64(sum.records), labels...)
		s.counter("topic_appended_records_total", "Sum of the log end offsets of a topic.", float64(sum.end), labels...)
		s.gauge("topic_unflushed_records", "Records of a topic that are not on stable storage yet.", float64(sum.unflushed), labels...)
	}
	s.gauge("logs_offline", "Logs that are corrupt, or whose directory has failed.", float64(offline))
}

type sums struct {
	bytes, records, end, unflushed int64
	offline                        int
}

func sumOf(t *partition.Topic) (s sums) {
	for _, p := range t.Partitions() {
		if p.Log == nil || p.Log.Err() != nil {
			s.offline++
		}
		if p.Log == nil {
			continue
		}
		flushed := p.Log.FlushedOffset() // first: it follows the end
		end := p.Log.LogEndOffset()
		s.bytes += p.Log.Size()
		s.records += end - p.Log.LogStartOffset()
		s.end += end
		s.unflushed += max(end-flushed, 0)
	}
	return s
}

func (c collector) directories(s scrape) {
	for _, d := range c.Dirs.All() {
		up := 1.0
		if d.Err() != nil {
			up = 0
		}
		s.gauge("log_directory_up", "1 while the log directory takes records.", up, "dir", d.Path())
		s.gauge("log_directory_logs", "Logs in the log directory.", float64(len(d.Logs())), "dir", d.Path())
		if free, err := fs.OS().Free(d.Path()); err == nil {
			s.gauge("log_directory_free_bytes", "Bytes that are free in the log directory's file system.", float64(free), "dir", d.Path())
		}
		if e := d.Engine(); e != nil {
			s.gauge("log_directory_room_bytes", "Bytes that appends may take before they are refused, for the reserve's sake.", float64(e.Room()), "dir", d.Path())
			recovery(s, e.Recovery(), d.Path())
			scrub(s, e.ScrubStatus(), d.Path())
		}
	}
}

func recovery(s scrape, r engine.Recovery, dir string) {
	clean := 0.0
	if r.Clean {
		clean = 1
	}
	s.gauge("recovery_clean", "1 where the stop before the last start was orderly.", clean, "dir", dir)
	s.gauge("recovery_duration_seconds", "Duration of the last start's recovery.", r.Duration.Seconds(), "dir", dir)
	s.gauge("recovery_logs", "Logs that the last start opened.", float64(r.Logs), "dir", dir)
	s.gauge("recovery_scanned_bytes", "Bytes beyond recovery points that the last start checked.", float64(r.Scanned), "dir", dir)
	s.gauge("recovery_cut_bytes", "Bytes of torn ends that the last start took off.", float64(r.Cut), "dir", dir)
	s.gauge("recovery_offline_logs", "Logs that the last start found corrupt.", float64(r.Offline), "dir", dir)
}

func scrub(s scrape, st engine.ScrubStatus, dir string) {
	s.counter("scrub_bytes_total", "Bytes of records that the scrub has checked.", float64(st.Read), "dir", dir)
	s.gauge("scrub_pass_bytes", "Bytes of records that the present pass of the scrub, or the last one, is over.", float64(st.All), "dir", dir)
	s.gauge("scrub_pass_done_bytes", "Bytes of these that it has checked.", float64(st.Done), "dir", dir)
	s.gauge("scrub_findings", "Logs that the scrub has taken offline, since records are not what they were.", float64(st.Findings), "dir", dir)
	if !st.Ended.IsZero() {
		s.gauge("scrub_last_pass_timestamp_seconds", "When the last whole pass of the scrub ended.", float64(st.Ended.UnixMilli())/1000, "dir", dir)
	}
}
