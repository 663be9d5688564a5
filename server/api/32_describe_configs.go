package api

// DescribeConfigs (key 32), versions 1 to 4.
//
// Behaviours that matter:
//   - topics, this broker (by its id), the defaults of all brokers (the empty name), client metrics subscriptions and
//     groups (neither need exist), and the broker's logger
//   - no names, null or empty, ask for all keys; names that do not exist are left out
//   - synonyms come where asked for; documentation too, from version 3 on; types always, from version 3 on
//   - what is sensitive has no value
//   - resources are independent: each has its own error, and one that comes twice is answered twice

import (
	"context"
	"log/slog"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/wire"
)

// maxDescribed is how many keys one answer describes, some 100 MB: all keys of 25,000 topics. A resource is not cut. Without it a small
// request that names one topic a million times would be answered with all memory that there is.
const maxDescribed = 1_000_000

func (b *Broker) describeConfigs(r *wire.Request) error {
	req := kmsg.NewPtrDescribeConfigsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerDescribeConfigs(req))
	return nil
}

func (b *Broker) answerDescribeConfigs(req *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	return b.view(b.Metadata.Image()).describeAll(req, b.Log, maxDescribed)
}

// describeAll describes the resources of a request, up to most keys together.
func (v view) describeAll(req *kmsg.DescribeConfigsRequest, log *slog.Logger, most int) *kmsg.DescribeConfigsResponse {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	tooMuch := refuse(kerr.PolicyViolation, "More than %d configs are too many for one request.", most)
	described := 0
	for _, resource := range req.Resources {
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = resource.ResourceType, resource.ResourceName
		r := tooMuch
		if described < most {
			var entries []config.Entry
			entries, r = v.describe(resource, log)
			described += len(entries)
			answer.Configs = describedConfigs(entries, req)
		}
		answer.ErrorCode, answer.ErrorMessage = r.answer()
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

// Resource types that the table of keys does not have, in the numbers of Kafka's ConfigResource.
const resourceBrokerLogger = 8

// describe describes one resource.
func (v view) describe(resource kmsg.DescribeConfigsRequestResource, log *slog.Logger) ([]config.Entry, *refusal) {
	name, keys := resource.ResourceName, resource.ConfigNames
	switch resource.ResourceType {
	case kmsg.ConfigResourceType(metadata.ResourceTopic):
		return v.describeTopic(name, keys)
	case kmsg.ConfigResourceType(metadata.ResourceBroker):
		if name == "" {
			return v.layers.DescribeBrokerDefault(keys), nil
		}
		if r := v.thisBroker(name, " or empty string,"); r != nil {
			return nil, r
		}
		return v.layers.DescribeBroker(keys), nil
	case resourceBrokerLogger:
		if name == "" {
			return nil, refuse(kerr.InvalidRequest, "Broker id must not be empty")
		}
		if r := v.thisBroker(name, ""); r != nil {
			return nil, r
		}
		return describeLogger(log, keys), nil
	case kmsg.ConfigResourceType(metadata.ResourceClientMetrics):
		if name == "" {
			return nil, refuse(kerr.InvalidRequest, "Client metrics subscription name must not be empty")
		}
		return config.DescribeClientMetrics(v.img.Configs(metadata.ResourceClientMetrics, name), keys), nil
	case kmsg.ConfigResourceType(metadata.ResourceGroup):
		if name == "" {
			return nil, refuse(kerr.InvalidRequest, "Group name must not be empty")
		}
		return v.layers.DescribeGroup(v.img.Configs(metadata.ResourceGroup, name), keys), nil
	}
	return nil, refuse(kerr.InvalidRequest, "Unsupported resource type: %d", resource.ResourceType)
}

func (v view) describeTopic(name string, keys []string) ([]config.Entry, *refusal) {
	if r := checkTopicName(name); r != nil {
		return nil, r
	}
	if _, ok := v.img.Topic(name); !ok {
		return nil, &refusal{code: kerr.UnknownTopicOrPartition.Code}
	}
	return v.layers.DescribeTopic(v.img.Configs(metadata.ResourceTopic, name), keys), nil
}

// thisBroker refuses the name of another broker, and what is no broker's name.
func (v view) thisBroker(name, or string) *refusal {
	switch id, err := strconv.ParseInt(name, 10, 32); {
	case err != nil:
		return refuse(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	case int32(id) != v.node:
		return refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d%s but received %s", v.node, or, name)
	}
	return nil
}

// rootLogger is Kafka's name for the logger above all. The broker has no other.
const rootLogger = "root"

// describeLogger describes the broker's logger: its level, which is set at the start.
func describeLogger(log *slog.Logger, keys []string) []config.Entry {
	if len(keys) > 0 && !slices.Contains(keys, rootLogger) {
		return nil
	}
	level := "OFF"
	for _, l := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug} {
		if log != nil && log.Enabled(context.Background(), l) {
			level = l.String()
		}
	}
	return []config.Entry{{Name: rootLogger, Value: &level, Source: config.SourceBrokerLogger, ReadOnly: true}}
}

// describedConfigs turns entries into what the request's version has of them.
func describedConfigs(entries []config.Entry, req *kmsg.DescribeConfigsRequest) []kmsg.DescribeConfigsResponseResourceConfig {
	all := make([]kmsg.DescribeConfigsResponseResourceConfig, len(entries))
	for i := range entries {
		e, c := &entries[i], &all[i]
		c.Default()
		c.Name, c.Value, c.Source = e.Name, e.Value, kmsg.ConfigSource(e.Source)
		c.ReadOnly, c.IsSensitive = e.ReadOnly, e.Sensitive
		c.ConfigType = kmsg.ConfigType(e.Type)
		if req.IncludeSynonyms {
			for _, s := range e.Synonyms {
				c.ConfigSynonyms = append(c.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
					Name: s.Name, Value: s.Value, Source: kmsg.ConfigSource(s.Source),
				})
			}
		}
		if req.IncludeDocumentation && e.Documentation != "" {
			c.Documentation = &e.Documentation
		}
	}
	return all
}
