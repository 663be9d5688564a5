package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zurau/zurau/benchmarks/results"
)

// A slot is the column of the table of ratios in which a figure stands.
type slot int

const (
	throughput slot = iota
	cpu
	latency
	memory
	slots
	noSlot // absolute figures alone
)

// A figure is one number of a row's result. Its ratio is zurau's value by Kafka's.
type figure struct {
	slot slot
	key  string // in values
	name string
	unit string
}

// A row is one line of the comparison: the same work for both brokers.
type row struct {
	id      string
	work    string
	secs    float64 // of the measured run, unless --secs says otherwise
	load    []string
	run     func(*trial) (results.Values, error)
	figures []figure
	limit   []string // oracle/limit with the same work, if there is one
}

// What produce runs report, and what their ratios are about.
var (
	bytesFigures = []figure{
		{throughput, "MB_s", "throughput", "MB/s"},
		{cpu, "cpu_s_per_GB", "broker CPU", "s/GB"},
		{latency, "lat_p99_ms", "latency p99", "ms"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	requestFigures = []figure{
		{throughput, "req_s", "requests", "/s"},
		{cpu, "cpu_us_per_req", "broker CPU", "µs/request"},
		{noSlot, "lat_p50_ms", "latency p50", "ms"},
		{latency, "lat_p99_ms", "latency p99", "ms"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	fetchFigures = []figure{
		{throughput, "MB_s", "throughput", "MB/s"},
		{cpu, "cpu_s_per_GB", "broker CPU", "s/GB"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	endToEndFigures = []figure{
		{noSlot, "rate", "records sent", "/s"},
		{cpu, "cpu_cores", "broker CPU", "cores"},
		{noSlot, "e2e_p50_ms", "end to end p50", "ms"},
		{noSlot, "e2e_p99_ms", "end to end p99", "ms"},
		{latency, "e2e_p999_ms", "end to end p99.9", "ms"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	manyFigures = []figure{
		{noSlot, "create_s", "created", "s"},
		{noSlot, "restart_s", "serves after a stop", "s"},
		{latency, "killed_s", "serves after a kill", "s"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	recoverFigures = []figure{
		{latency, "killed_s", "serves after a kill", "s"},
		{memory, "rss_MB", "resident memory", "MB"},
	}
	idleFigures = []figure{
		{latency, "ready_ms", "ready after start", "ms"},
		{noSlot, "first_ready_ms", "ready after first start", "ms"},
		{memory, "rss_MB", "resident memory, idle", "MB"},
	}
)

// rows are those of one broker. P7 has no broker in it: zurau bench all runs it.
var rows = []*row{
	{id: "P1a", work: "produce acks=1, 16 records of 1000 B a batch, 4 partitions, 4 connections, 5 in flight", secs: 20,
		load: produce(4, 5, 16, 1000, 4, "1"), run: runProduce, figures: bytesFigures, limit: []string{"sink", "4", "16"}},
	{id: "P1b", work: "the same, 64 records a batch", secs: 20,
		load: produce(4, 5, 64, 1000, 4, "1"), run: runProduce, figures: bytesFigures, limit: []string{"sink", "4", "64"}},
	{id: "P2", work: "produce acks=1, 1 record of 100 B a request, 16 partitions, 64 connections, 1 in flight", secs: 10,
		load: produce(64, 1, 1, 100, 16, "1"), run: runProduce, figures: requestFigures},
	{id: "P3a", work: "durable, acks=all, 1 record of 1000 B a request, 1 connection, 1 in flight", secs: 10,
		load: durable(produce(1, 1, 1, 1000, 1, "-1")), run: runProduce, figures: requestFigures},
	{id: "P3b", work: "the same, 32 connections, 1 partition", secs: 10,
		load: durable(produce(32, 1, 1, 1000, 1, "-1")), run: runProduce, figures: requestFigures},
	{id: "P3c", work: "the same, 32 connections, 8 partitions", secs: 10,
		load: durable(produce(32, 1, 1, 1000, 8, "-1")), run: runProduce, figures: requestFigures},
	{id: "P3d", work: "durable, acks=all, 64 records of 1000 B a batch, 8 partitions, 8 connections, 5 in flight", secs: 10,
		load: durable(produce(8, 5, 64, 1000, 8, "-1")), run: runProduce, figures: bytesFigures},
	{id: "P4", work: "catch-up fetch, 1 MiB a partition, 4 partitions, 4 connections, page cache warm",
		load: []string{"fetch", "-conns", "4", "-max-kb", "1024"}, run: runFetch, figures: fetchFigures,
		limit: []string{"sendfile", "4", "1024"}},
	{id: "P5a", work: "1,000 single 1000 B records a second, acks=1, end to end, 4 partitions, 16 connections", secs: 20,
		load: endToEnd(1000), run: runEndToEnd, figures: endToEndFigures},
	{id: "P5b", work: "the same, 5,000 records a second", secs: 20,
		load: endToEnd(5000), run: runEndToEnd, figures: endToEndFigures},
	{id: "P5c", work: "the same, 10,000 records a second", secs: 20,
		load: endToEnd(10000), run: runEndToEnd, figures: endToEndFigures},
	{id: "P6", work: "ready after start; idle", run: runIdle, figures: idleFigures},
	{id: "P8", work: "10,000 partitions with a record each: created, started on again after a stop and after kill -9", run: runMany, figures: manyFigures},
	{id: "P9", work: "10 GB in 8 partitions, kill -9, until all of them serve", run: runRecover, figures: recoverFigures},
}

func produce(conns, inflight, batchRecords, recordBytes, partitions int, acks string) []string {
	return []string{"produce", "-conns", strconv.Itoa(conns), "-inflight", strconv.Itoa(inflight), "-batch-records", strconv.Itoa(batchRecords),
		"-record-bytes", strconv.Itoa(recordBytes), "-partitions", strconv.Itoa(partitions), "-acks", acks}
}

func durable(args []string) []string { return append(args, "-configs", "flush.messages=1") }

func endToEnd(rate int) []string {
	return []string{"e2e", "-rate", strconv.Itoa(rate), "-conns", "16", "-partitions", "4", "-record-bytes", "1000", "-acks", "1"}
}

// choose returns the rows that a comma separated list names by their ids or an id's beginning; all for an empty list.
func choose(list string) ([]*row, error) {
	if list == "" {
		return rows, nil
	}
	wanted := map[*row]bool{}
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for _, r := range rows {
			if name != "" && (r.id == name || strings.TrimRight(r.id, "abcd") == name) {
				found, wanted[r] = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("--rows: no row %q", name)
		}
	}
	var chosen []*row
	for _, r := range rows {
		if wanted[r] {
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}
