package config

import (
	"regexp"
	"slices"
	"strings"
)

// bounds are the keys of a broker between which a group's key must be; "" is no bound.
var bounds = []struct{ name, least, most string }{
	{"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
	{"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
	{"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
	{"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
	{"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
	{"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
	{"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
	{"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
	{"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
	{"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
	{"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
	{"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
}

func (l Layers) checkGroup(m map[string]string) error {
	if err := checkNames(KindGroup, m, InvalidConfig, "Unknown group config name: "); err != nil {
		return err
	}
	if err := checkEach(KindGroup, m, InvalidConfig); err != nil {
		return err
	}
	r := ownReader{groupKeys, l, m}
	for _, b := range bounds {
		if _, set := m[b.name]; !set {
			continue
		}
		n := int32(r.long(b.name))
		switch {
		case b.least == "" && n > l.Int(b.most):
			return invalidConfig("%s must be less than or equal to %d", b.name, l.Int(b.most))
		case b.most == "" && n < l.Int(b.least):
			return invalidConfig("%s must be greater than or equal to %d", b.name, l.Int(b.least))
		case b.least != "" && b.most != "" && (n < l.Int(b.least) || n > l.Int(b.most)):
			return invalidConfig("%s must be in the range %d to %d inclusive.", b.name, l.Int(b.least), l.Int(b.most))
		}
	}
	for _, kind := range []string{"consumer.", "share.", "streams."} {
		heartbeat, session := kind+"heartbeat.interval.ms", kind+"session.timeout.ms"
		if r.long(heartbeat) >= r.long(session) {
			return invalidConfig("%s must be less than %s", heartbeat, session)
		}
	}
	return l.checkGroupNames(m)
}

// checkGroupNames checks the keys of a group that name something.
func (l Layers) checkGroupNames(m map[string]string) error {
	if name, set := m["streams.assignor.name"]; set && !slices.Contains(l.List("group.streams.assignors"), trim(name)) {
		return invalidConfig("streams.assignor.name '%s' is not a registered task assignor. Registered assignors are: [%s].",
			trim(name), strings.Join(l.List("group.streams.assignors"), ", "))
	}
	const tags = "streams.rack.aware.assignment.tags"
	set := ownReader{groupKeys, l, m}.get(tags).list
	if _, own := m[tags]; own && len(splitList(trim(m[tags]))) > len(set) {
		return invalidConfig("%s must not contain duplicate tag keys.", tags)
	}
	if strings.HasPrefix(trim(m["errors.deadletterqueue.topic.name"]), "__") {
		return invalidConfig("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	}
	return nil
}

// matchNames are what a client metrics subscription may match clients by.
var matchNames = []string{
	"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address",
	"client_source_port",
}

func checkClientMetrics(m map[string]string) error {
	if err := checkNames(KindClientMetrics, m, InvalidRequest, "Unknown client metrics configuration: "); err != nil {
		return err
	}
	if v, set := m["interval.ms"]; set {
		k, _ := find(clientMetricsKeys, "interval.ms")
		if _, ok := k.Type.parse(trim(v)); ok && k.Validate(v) != nil {
			return invalidRequest("Invalid value %s for interval.ms, interval must be between 100 and 3600000 (1 hour)", k.show(v))
		}
	}
	if err := checkEach(KindClientMetrics, m, InvalidConfig); err != nil {
		return err
	}
	for _, s := range splitList(trim(m["match"])) {
		name, pattern, ok := strings.Cut(s, "=")
		_, err := regexp.Compile(trim(pattern))
		if !ok || err != nil || !slices.Contains(matchNames, trim(name)) {
			return invalidConfig("Illegal client matching pattern: %s", s)
		}
	}
	return nil
}
