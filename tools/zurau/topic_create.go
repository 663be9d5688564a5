package main

import (
	"encoding/base64"
	"errors"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type topicCreateFlags struct {
	brokerFlags
	partitions  int32
	replicas    int16
	configs     []string
	ifNotExists bool
}

func topicCreateCommand() *cobra.Command {
	var f topicCreateFlags
	c := &cobra.Command{
		Use:   "create NAME...",
		Short: "Create topics",
		Example: `  zurau topic create orders
  zurau topic create orders --partitions 6 --config retention.ms=86400000
  zurau topic create orders --if-not-exists`,
		Args: atLeastOne,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	c.Flags().Int32Var(&f.partitions, "partitions", 0, "number of partitions (default the broker's num.partitions)")
	c.Flags().Int16Var(&f.replicas, "replication-factor", 0, "replicas of each partition (default the broker's default.replication.factor)")
	c.Flags().StringArrayVar(&f.configs, "config", nil, "a config of the topic, `KEY=VALUE`; may be repeated")
	c.Flags().BoolVar(&f.ifNotExists, "if-not-exists", false, "do nothing for a topic that exists")
	return c
}

// request builds the request. Kafka takes -1 for a number that the broker is to choose.
func (f *topicCreateFlags) request(c *cobra.Command, names []string) (*kmsg.CreateTopicsRequest, error) {
	configs, err := pairs("config", f.configs)
	if err != nil {
		return nil, err
	}
	partitions, replicas := int32(-1), int16(-1)
	if c.Flags().Changed("partitions") {
		if partitions = f.partitions; partitions < 1 {
			return nil, usagef("--partitions %d: want 1 or more", partitions)
		}
	}
	if c.Flags().Changed("replication-factor") {
		if replicas = f.replicas; replicas < 1 {
			return nil, usagef("--replication-factor %d: want 1 or more", replicas)
		}
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = f.requestMs()
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
		for _, p := range configs {
			kv := kmsg.NewCreateTopicsRequestTopicConfig()
			kv.Name, kv.Value = p.key, &p.value
			t.Configs = append(t.Configs, kv)
		}
		req.Topics = append(req.Topics, t)
	}
	return req, nil
}

func (f *topicCreateFlags) run(c *cobra.Command, names []string) error {
	req, err := f.request(c, names)
	if err != nil {
		return err
	}
	return f.with(c, func(s session) error {
		resp, err := req.RequestWith(s.ctx, s.cl)
		if err != nil {
			return explain("create", cause(s.ctx, err))
		}
		var errs []error
		for _, t := range resp.Topics {
			errs = append(errs, f.report(s, t))
		}
		return errors.Join(errs...)
	})
}

// createdTopic is what --json prints.
type createdTopic struct {
	Topic             string `json:"topic"`
	ID                string `json:"id,omitempty"`
	Created           bool   `json:"created"`
	Partitions        int32  `json:"partitions,omitempty"`
	ReplicationFactor int16  `json:"replicationFactor,omitempty"`
}

func (f *topicCreateFlags) report(s session, t kmsg.CreateTopicsResponseTopic) error {
	err := answered(about(t.Topic), t.ErrorCode, t.ErrorMessage)
	exists := f.ifNotExists && errors.Is(err, kerr.TopicAlreadyExists)
	if err != nil && !exists {
		return err
	}
	if f.json {
		made := createdTopic{Topic: t.Topic, Created: !exists}
		if !exists {
			made.ID, made.Partitions, made.ReplicationFactor = topicID(t.TopicID), max(t.NumPartitions, 0), max(t.ReplicationFactor, 0)
		}
		return s.out.object(made)
	}
	if exists {
		s.printf("topic %s exists already\n", t.Topic)
		return nil
	}
	s.printf("created topic %s", t.Topic)
	if t.NumPartitions > 0 {
		s.printf(": %s, replication factor %d", plural(t.NumPartitions, "partition"), t.ReplicationFactor)
	}
	s.printf("\n")
	return nil
}

// topicID returns Kafka's text form of an id, empty for none.
func topicID(id [16]byte) string {
	if id == ([16]byte{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}
