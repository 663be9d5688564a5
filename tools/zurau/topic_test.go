package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTopicsAreCreatedListedDescribedAlteredAndDeleted(t *testing.T) {
	b := serve(t, t.TempDir())
	has(t, b.do("topic create orders --partitions 3 --config retention.ms=1000 --config cleanup.policy=compact,delete"),
		"created topic orders: 3 partitions, replication factor 1")
	has(t, b.do("topic create users --json"), `"topic":"users"`, `"created":true`, `"partitions":1`)
	if got := b.do("topic list"); got != "orders\nusers\n" {
		t.Errorf("list: %q", got)
	}
	has(t, b.do("topic list -l"), "PARTITIONS", "orders")
	has(t, b.do("topic describe orders"), "topic orders\n", "config cleanup.policy=compact,delete\n", "config retention.ms=1000\n", "PARTITION  LEADER")

	has(t, b.do("topic alter orders --partitions 5 --config retention.ms=2000 --delete-config cleanup.policy"), "5 partitions")
	var d describedTopic
	must(t, json.Unmarshal([]byte(b.do("topic describe orders --json")), &d))
	if len(d.Partitions) != 5 || len(d.Configs) != 1 || *d.Configs[0].Value != "2000" || d.Partitions[4].End != 0 || len(d.Partitions[0].ISR) != 1 {
		t.Errorf("described: %+v", d)
	}
	has(t, b.do("topic describe orders --all-configs"), "config max.message.bytes=1048588  (default config)")

	has(t, b.do("topic delete orders"), "deleted topic orders")
	if got := b.do("topic list"); got != "users\n" {
		t.Errorf("list: %q", got)
	}
}

func TestErrorsOfTopicsNameTheTopicAndKafkasError(t *testing.T) {
	b := serve(t, t.TempDir())
	b.do("topic create there")
	for words, want := range map[string]string{
		"topic create there":                          "topic there: TOPIC_ALREADY_EXISTS: ",
		"topic create a/b":                            "topic a/b: INVALID_TOPIC_EXCEPTION: ",
		"topic create far --replication-factor 3":     "topic far: INVALID_REPLICATION_FACTOR: ",
		"topic create bad --config retention.ms=soon": "topic bad: INVALID_CONFIG: ",
		"topic describe gone":                         "topic gone: UNKNOWN_TOPIC_OR_PARTITION: ",
		"topic delete gone":                           "topic gone: UNKNOWN_TOPIC_OR_PARTITION: ",
		"topic alter gone --partitions 2":             "topic gone: UNKNOWN_TOPIC_OR_PARTITION: ",
		"topic alter there --partitions 1":            "topic there: INVALID_PARTITIONS: ",
		"topic alter there --config no.such.key=1":    "topic there: INVALID_CONFIG: ",
	} {
		has(t, b.fails(exitFailed, "", words), want)
	}
	has(t, b.do("topic create there --if-not-exists"), "exists already")
	has(t, b.do("topic delete gone --if-exists"), "does not exist")
	// What can be done is done, and the rest is told.
	r := b.fails(exitFailed, "", "topic create there new")
	has(t, r, "there: TOPIC_ALREADY_EXISTS")
	if got := b.do("topic list"); !strings.Contains(got, "new\n") {
		t.Errorf("list: %q", got)
	}
}
