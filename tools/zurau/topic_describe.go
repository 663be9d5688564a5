package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type topicDescribeFlags struct {
	brokerFlags
	allConfigs, internal bool
}

func topicDescribeCommand() *cobra.Command {
	var f topicDescribeFlags
	c := &cobra.Command{
		Use:   "describe [NAME...]",
		Short: "Show partitions, leaders, replicas, offsets and configs of topics",
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.allConfigs, "all-configs", false, "show configs with their default values too")
	c.Flags().BoolVar(&f.internal, "internal", false, "without names, show the broker's internal topics too")
	return c
}

// describedTopic is what --json prints.
type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"id,omitempty"`
	Internal   bool                 `json:"internal"`
	Partitions []describedPartition `json:"partitions"`
	Configs    []describedConfig    `json:"configs"`
}

type describedPartition struct {
	Partition   int32   `json:"partition"`
	Leader      int32   `json:"leader"` // -1: none
	LeaderEpoch int32   `json:"leaderEpoch"`
	Replicas    []int32 `json:"replicas"`
	ISR         []int32 `json:"isr"`
	Offline     []int32 `json:"offline,omitempty"`
	Error       string  `json:"error,omitempty"`
	// Start and End are the log start offset and the high watermark, -1 where no leader tells them.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

type describedConfig struct {
	Key    string  `json:"key"`
	Value  *string `json:"value"`  // null: sensitive
	Source string  `json:"source"` // Kafka's: DYNAMIC_TOPIC_CONFIG, DEFAULT_CONFIG, ...
}

func (f *topicDescribeFlags) run(c *cobra.Command, names []string) error {
	return f.with(c, func(s session) error {
		topics, err := topicMetadata(s.ctx, s.cl, names...)
		if err != nil {
			return err
		}
		slices.SortFunc(topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(*a.Topic, *b.Topic) })
		var found []string
		var errs []error
		topics = slices.DeleteFunc(topics, func(t kmsg.MetadataResponseTopic) bool {
			err := answered(about(*t.Topic), t.ErrorCode, nil)
			errs = append(errs, err)
			if err != nil || len(names) == 0 && t.IsInternal && !f.internal {
				return true
			}
			found = append(found, *t.Topic)
			return false
		})
		configs, err := topicConfigs(s.ctx, s.cl, nil, found...)
		if err != nil {
			return err
		}
		for i, t := range topics {
			d, err := f.describe(s, t, configs[*t.Topic])
			if err != nil {
				return err
			}
			if f.json {
				errs = append(errs, s.out.object(d))
				continue
			}
			if i > 0 {
				s.printf("\n")
			}
			d.print(s)
		}
		return errors.Join(errs...)
	})
}

func (f *topicDescribeFlags) describe(s session, t kmsg.MetadataResponseTopic, configs []kmsg.DescribeConfigsResponseResourceConfig) (describedTopic, error) {
	d := describedTopic{Topic: *t.Topic, ID: topicID(t.TopicID), Internal: t.IsInternal, Configs: []describedConfig{}}
	slices.SortFunc(t.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition) - int(b.Partition) })
	var led []int32
	for _, p := range t.Partitions {
		dp := describedPartition{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas,
			ISR: p.ISR, Offline: p.OfflineReplicas, Start: -1, End: -1}
		if err := kerr.TypedErrorForCode(p.ErrorCode); err != nil {
			dp.Error = err.Message
		}
		if p.Leader >= 0 {
			led = append(led, p.Partition)
		}
		d.Partitions = append(d.Partitions, dp)
	}
	for _, kv := range configs {
		if !f.allConfigs && kv.Source != kmsg.ConfigSourceDynamicTopicConfig {
			continue
		}
		d.Configs = append(d.Configs, describedConfig{kv.Name, kv.Value, kv.Source.String()})
	}
	slices.SortFunc(d.Configs, func(a, b describedConfig) int { return strings.Compare(a.Key, b.Key) })
	return d, d.addOffsets(s, led)
}

func (d *describedTopic) addOffsets(s session, led []int32) error {
	if len(led) == 0 {
		return nil
	}
	starts, err := listOffsets(s.ctx, s.cl, d.Topic, led, atStart, false)
	if err != nil {
		return err
	}
	ends, err := listOffsets(s.ctx, s.cl, d.Topic, led, atEnd, false)
	if err != nil {
		return err
	}
	for i := range d.Partitions {
		p := &d.Partitions[i]
		if end, ok := ends[p.Partition]; ok {
			p.Start, p.End = starts[p.Partition], end
		}
	}
	return nil
}

func (d *describedTopic) print(s session) {
	s.printf("topic %s\n", d.Topic)
	if d.ID != "" {
		s.printf("  id %s\n", d.ID)
	}
	for _, kv := range d.Configs {
		value := "(hidden)"
		if kv.Value != nil {
			value = *kv.Value
		}
		s.printf("  config %s=%s", kv.Key, value)
		if kv.Source != kmsg.ConfigSourceDynamicTopicConfig.String() {
			s.printf("  (%s)", strings.ToLower(strings.ReplaceAll(kv.Source, "_", " ")))
		}
		s.printf("\n")
	}
	rows := [][]string{{"PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END"}}
	for _, p := range d.Partitions {
		row := []string{fmt.Sprint(p.Partition), fmt.Sprint(p.Leader), fmt.Sprint(p.LeaderEpoch), joined(p.Replicas), joined(p.ISR),
			fmt.Sprint(p.Start), fmt.Sprint(p.End)}
		if p.Error != "" {
			row = append(row, p.Error)
		}
		rows = append(rows, row)
	}
	s.out.table("  ", rows)
}

// joined returns ids as "1,2,3".
func joined(ids []int32) string {
	var s []string
	for _, id := range ids {
		s = append(s, strconv.Itoa(int(id)))
	}
	return strings.Join(s, ",")
}
