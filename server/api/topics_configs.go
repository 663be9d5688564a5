package api

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
)

// configRecords are the records that make the configs of a resource, now before, into after. They come in the order of
// their keys, so that the same change gives the same records.
func configRecords(resource metadata.Resource, before, after map[string]string) []metadata.Record {
	var records []metadata.Record
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[key]; !ok || old != after[key] {
			records = append(records, metadata.ConfigRecord{Resource: resource, Key: key, Value: after[key]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			records = append(records, metadata.ConfigRecord{Resource: resource, Key: key, Delete: true})
		}
	}
	return records
}

// An alteration is the change of one resource's configs.
type alteration struct {
	kind    int8 // as on the wire
	name    string
	changes []config.Change
	replace bool // AlterConfigs: what is not named goes back to its default
}

// resource is what two alterations of one request must not share.
func (a *alteration) resource() metadata.Resource {
	return metadata.Resource{Type: metadata.ResourceType(a.kind), Name: a.name}
}

// alterAll decides on the resources of a request, each on its own, and returns what is refused in their order. A resource
// that comes twice is refused each time.
func (v view) alterAll(list []alteration, c *batch) []*refusal {
	times := make(map[metadata.Resource]int, len(list))
	for i := range list {
		times[list[i].resource()]++
	}
	answers := make([]*refusal, len(list))
	for i := range list {
		if times[list[i].resource()] > 1 {
			answers[i] = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
			continue
		}
		answers[i] = v.alter(&list[i], c)
	}
	return answers
}

// alter decides on one resource. The order of the checks is Kafka's: what is wrong with the request itself comes before
// what is wrong with the resource's name, its configs, and its existence.
func (v view) alter(a *alteration, c *batch) *refusal {
	if a.kind == resourceBrokerLogger && !a.replace {
		return v.alterLogger(a)
	}
	resource, r := v.altered(a)
	if r != nil {
		return r
	}
	current := v.img.Configs(resource.Type, resource.Name)
	change := v.layers.Alter
	if a.replace {
		change = v.layers.Replace
	}
	next, err := change(config.Kind(a.kind), resource.Name, current, a.changes)
	if r := v.checkAltered(resource, err); r != nil {
		return r
	}
	c.add(configRecords(resource, current, next)...)
	return nil
}

// altered returns the resource as the image names it: this broker is 1, whatever number of zeros the client puts before.
func (v view) altered(a *alteration) (metadata.Resource, *refusal) {
	r := a.resource()
	switch r.Type {
	case metadata.ResourceTopic, metadata.ResourceClientMetrics, metadata.ResourceGroup:
		return r, nil
	case metadata.ResourceBroker:
		if r.Name == "" {
			return r, nil
		}
		id, refused := v.thisNode(r.Name)
		r.Name = id
		return r, refused
	}
	return r, refuse(kerr.InvalidRequest, "Unknown resource type %d", a.kind)
}

// thisNode refuses another broker's name: its configuration is checked by itself.
func (v view) thisNode(name string) (string, *refusal) {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return "", refuse(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	case int32(id) != v.node:
		return "", refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", v.node, name)
	}
	return strconv.FormatInt(id, 10), nil
}

// checkAltered puts what the configs were refused for into the order of Kafka's checks.
func (v view) checkAltered(resource metadata.Resource, err error) *refusal {
	var e *config.Error
	if errors.As(err, &e) && (resource.Type != metadata.ResourceTopic || e.Reason != config.InvalidConfig) {
		return refuseConfig(err)
	}
	if resource.Type == metadata.ResourceTopic {
		if resource.Name == "" {
			return refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if r := checkTopicName(resource.Name); r != nil {
			return r
		}
	}
	if err != nil {
		return refuseConfig(err)
	}
	if resource.Type == metadata.ResourceTopic {
		if _, ok := v.img.Topic(resource.Name); !ok {
			return refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", resource.Name)
		}
	}
	return nil
}

// alterLogger decides on the levels of loggers: there is one logger, and its level is set at the start. So the first
// change is refused, whatever it is.
func (v view) alterLogger(a *alteration) *refusal {
	if _, r := v.thisNode(a.name); r != nil {
		return r
	}
	if len(a.changes) == 0 {
		return nil
	}
	switch c := a.changes[0]; {
	case c.Op != config.Set && c.Op != config.Delete:
		return refuse(kerr.InvalidRequest, "%s operation is not allowed for the BROKER_LOGGER resource", c.Op)
	case c.Name != rootLogger:
		return refuse(kerr.InvalidConfig, "Logger %s does not exist!", c.Name)
	case c.Op == config.Delete:
		return refuse(kerr.InvalidRequest, "Removing the log level of the root logger is not allowed")
	}
	return refuse(kerr.InvalidConfig, "The log level is set when the broker starts")
}
