package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A conflict is a value that is one of its key's and does not go with the others.
type conflict struct{ key, value, expected string }

// conflicts checks what a broker's values come to together: what Kafka checks when it starts, of the keys that zurau acts
// on.
func (l Layers) conflicts() []conflict {
	c := checker{Layers: l}
	c.times()
	c.replication()
	c.groups()
	c.listeners()
	if l.Int("node.id") != l.Int("broker.id") && l.isSet("broker.id") {
		c.add("broker.id", "the value of node.id, %d", l.Int("node.id"))
	}
	if n := l.Int("offsets.topic.compression.codec"); n < 0 || n > 4 {
		c.add("offsets.topic.compression.codec", "0 to 4")
	}
	if _, err := ConnectionOverrides(l.Text("max.connections.per.ip.overrides")); err != nil {
		c.add("max.connections.per.ip.overrides", "HOST:COUNT,...: %v", err)
	}
	if l.Int("max.connections.per.ip") == 0 && l.Text("max.connections.per.ip.overrides") == "" {
		c.add("max.connections.per.ip", "at least 1 where max.connections.per.ip.overrides is not set")
	}
	return c.found
}

type checker struct {
	Layers
	found []conflict
}

func (c *checker) add(key, expected string, args ...any) {
	f, _ := c.get(key)
	c.found = append(c.found, conflict{key, f.text, fmt.Sprintf(expected, args...)})
}

func (l Layers) isSet(name string) bool { return len(l.written(name)) > 0 }

// times checks the ages of logs, which are 1 or more, or no limit.
func (c *checker) times() {
	for _, s := range synonyms("log.retention.ms") {
		if f, ok := c.get(s.name); ok && f.number == 0 {
			c.add(s.name, "-1 for no limit, or at least 1")
		}
	}
	if f, ok := c.get("log.roll.ms"); ok && f.number < 1 {
		c.add("log.roll.ms", "at least 1")
	}
	if f, ok := c.get("log.roll.jitter.ms"); ok && f.number < 0 {
		c.add("log.roll.jitter.ms", "at least 0")
	}
	threads, buffer := c.Int("log.cleaner.threads"), c.Long("log.cleaner.dedupe.buffer.size")
	if threads > 0 && buffer/int64(threads) <= 1<<20 {
		c.add("log.cleaner.dedupe.buffer.size", "more than 1048576 for each of %d threads", threads)
	}
}

func (c *checker) replication() {
	if c.Int("replica.fetch.wait.max.ms") > c.Int("replica.socket.timeout.ms") {
		c.add("replica.socket.timeout.ms", "at least replica.fetch.wait.max.ms, %d", c.Int("replica.fetch.wait.max.ms"))
	}
	if c.Long("replica.fetch.wait.max.ms") > c.Long("replica.lag.time.max.ms") {
		c.add("replica.fetch.wait.max.ms", "at most replica.lag.time.max.ms, %d", c.Long("replica.lag.time.max.ms"))
	}
}

// groups checks that the smallest value of a group's key is not above the largest, and the broker's own between them.
func (c *checker) groups() {
	if c.Int("group.min.session.timeout.ms") > c.Int("group.max.session.timeout.ms") {
		c.add("group.max.session.timeout.ms", "at least group.min.session.timeout.ms, %d", c.Int("group.min.session.timeout.ms"))
	}
	for _, name := range []string{"session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"} {
		for _, kind := range []string{"group.consumer.", "group.share.", "group.streams."} {
			c.between(kind+name, kind+"min."+name, kind+"max."+name)
		}
	}
	for _, name := range []string{"delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms"} {
		c.between("group.share."+name, "group.share.min."+name, "group.share.max."+name)
	}
	for _, kind := range []string{"group.consumer.", "group.share.", "group.streams."} {
		heartbeat, session := c.Int(kind+"heartbeat.interval.ms"), c.Int(kind+"session.timeout.ms")
		if heartbeat >= session {
			c.add(kind+"heartbeat.interval.ms", "less than %ssession.timeout.ms, %d", kind, session)
		}
	}
	if n, most := c.Int("group.streams.num.standby.replicas"), c.Int("group.streams.max.standby.replicas"); n > most {
		c.add("group.streams.num.standby.replicas", "at most group.streams.max.standby.replicas, %d", most)
	}
}

func (c *checker) between(name, least, most string) {
	n, lo, hi := c.Int(name), c.Int(least), c.Int(most)
	switch {
	case lo > hi:
		c.add(most, "at least %s, %d", least, lo)
	case n < lo:
		c.add(name, "at least %s, %d", least, lo)
	case n > hi:
		c.add(name, "at most %s, %d", most, hi)
	}
}

// ConnectionOverrides reads max.connections.per.ip.overrides: HOST:COUNT with commas between.
func ConnectionOverrides(value string) (map[string]int32, error) {
	m := map[string]int32{}
	for _, s := range splitList(trim(value)) {
		i := strings.LastIndexByte(s, ':')
		if i <= 0 {
			return nil, fmt.Errorf("%q is not HOST:COUNT", s)
		}
		n, err := strconv.ParseInt(trim(s[i+1:]), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a count", s[i+1:])
		}
		m[strings.Trim(trim(s[:i]), "[]")] = int32(n)
	}
	return m, nil
}
