package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/tests/inprocess"
	"github.com/zurau/zurau/tests/raw"
)

// get returns what the broker's HTTP side answers.
func (b *broker) get(path string) (status int, body string) {
	b.t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + b.MetricsAddr().String() + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestMetricsSayWhatTheBrokerDoes(t *testing.T) {
	b := start(t, t.TempDir(), "zurau.metrics.listener=127.0.0.1:0")
	c := b.dial()
	c.create("async", 2)
	c.create("sync", 1, "flush.messages", "1")
	c.put("async", 1, batch("one", "two", "three"))
	c.put("sync", 0, batch("one"))
	if got := ask[*kmsg.ProduceResponse](c, produceRequest("nowhere", 0, -1, batch("v").Bytes())).Topics[0].Partitions[0]; got.ErrorCode != 3 {
		t.Fatalf("error %d", got.ErrorCode)
	}
	c.put("async", 0, batch("first").Producer(7, 0, 0))
	for _, late := range []int32{5, 9} { // sequences that leave others out
		if got := ask[*kmsg.ProduceResponse](c, produceRequest("async", 0, -1, batch("late").Producer(7, 0, late).Bytes())).Topics[0].Partitions[0]; got.ErrorCode != 45 {
			t.Fatalf("error %d", got.ErrorCode)
		}
	}
	c.values("async")
	missing := fetchRequest("async", 9, 0)
	ask[*kmsg.FetchResponse](c, missing)
	status, text := b.get("/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, line := range []string{
		`zurau_request_duration_seconds_count{api="Produce"} 6`,
		`zurau_request_duration_seconds_count{api="CreateTopics"} 2`,
		`zurau_request_errors_total{api="Produce",error="UNKNOWN_TOPIC_OR_PARTITION"} 1`,
		`zurau_request_errors_total{api="Fetch",error="OFFSET_OUT_OF_RANGE"} 1`,
		`zurau_append_duration_seconds_count{mode="async"} 2`,
		`zurau_append_duration_seconds_count{mode="sync"} 1`,
		`zurau_connections 1`,
		`zurau_connections_accepted_total 1`,
		`zurau_connections_closed_total{reason="limit"} 0`,
		`zurau_topic_partitions{topic="async"} 2`,
		`zurau_topic_records{topic="async"} 4`,
		`zurau_topic_appended_records_total{topic="async"} 4`,
		`zurau_topic_unflushed_records{topic="sync"} 0`,
		`zurau_logs_offline 0`,
		`zurau_appends_refused_total{reason="producer"} 2`,
		`zurau_appends_refused_total{reason="no_space"} 0`,
		`zurau_log_files_evicted_total 0`,
		`zurau_log_directory_up{dir="` + b.dir + `"} 1`,
		`zurau_recovery_logs{dir="` + b.dir + `"} 0`,
		`zurau_recovery_offline_logs{dir="` + b.dir + `"} 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, name := range []string{"zurau_request_bytes_total", "zurau_response_bytes_total", "zurau_log_directory_free_bytes", "zurau_scrub_bytes_total",
		"zurau_scrub_findings", "go_goroutines",
		"process_resident_memory_bytes", "zurau_log_write_duration_seconds_count", "zurau_log_written_bytes_total", "zurau_log_flush_duration_seconds_count",
		"zurau_checkpoint_duration_seconds_count", "zurau_log_read_bytes_total", "zurau_log_files_open"} {
		if strings.Contains(text, "\nzurau_log_written_bytes_total 0\n") {
			t.Error("nothing was written")
		}
		if strings.Contains(text, "\nzurau_log_files_open 0\n") {
			t.Error("no log file is open")
		}
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
	if status, _ := b.get("/elsewhere"); status != http.StatusNotFound {
		t.Errorf("elsewhere: status %d", status)
	}
}

func TestHealthIsWhatErrSays(t *testing.T) {
	b := &broker{t: t, dir: t.TempDir(), log: new(raw.Log)}
	var err error
	if b.Server, err = inprocess.Try(t.Context(), b.dir, b.log, "zurau.metrics.listener=127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c := b.dial()
	c.create("t", 1)
	if status, text := b.get("/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("status %d: %s", status, text)
	}
	again := writesFail(t)
	ask[*kmsg.ProduceResponse](c, produceRequest("t", 0, -1, batch("lost").Bytes()))
	<-b.Done()
	again()
	if status, text := b.get("/healthz"); status != http.StatusServiceUnavailable || !strings.Contains(text, b.dir) {
		t.Errorf("status %d: %s", status, text)
	}
	if _, text := b.get("/metrics"); !strings.Contains(text, `zurau_log_directory_up{dir="`+b.dir+`"} 0`) {
		t.Error("the directory is up")
	}
	if b.Close(t.Context()) == nil {
		t.Error("a broker that has failed was closed as if in order")
	}
}

func TestThereAreNoMetricsUnlessAskedFor(t *testing.T) {
	if addr := start(t, t.TempDir()).MetricsAddr(); addr != nil {
		t.Errorf("metrics at %v", addr)
	}
	for _, at := range []string{"nowhere", "256.0.0.1:1", "127.0.0.1:99999"} {
		if _, err := inprocess.Try(t.Context(), t.TempDir(), new(raw.Log), "zurau.metrics.listener="+at); err == nil || !strings.Contains(err.Error(), "zurau.metrics.listener "+at) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
