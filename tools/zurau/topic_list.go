package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type topicListFlags struct {
	brokerFlags
	internal, long bool
}

func topicListCommand() *cobra.Command {
	var f topicListFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List topics",
		Args:  argsBetween(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.internal, "internal", false, "list the broker's internal topics too")
	c.Flags().BoolVarP(&f.long, "long", "l", false, "list partitions, replication factor and id too")
	return c
}

// listedTopic is what --json prints.
type listedTopic struct {
	Topic             string `json:"topic"`
	ID                string `json:"id,omitempty"`
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replicationFactor"`
	Internal          bool   `json:"internal"`
}

func (f *topicListFlags) run(c *cobra.Command) error {
	return f.with(c, func(s session) error {
		topics, err := topicMetadata(s.ctx, s.cl)
		if err != nil {
			return err
		}
		slices.SortFunc(topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(*a.Topic, *b.Topic) })
		rows := [][]string{{"TOPIC", "PARTITIONS", "REPLICAS", "ID"}}
		for _, t := range topics {
			if t.IsInternal && !f.internal {
				continue
			}
			l := listedTopic{*t.Topic, topicID(t.TopicID), len(t.Partitions), replication(t), t.IsInternal}
			switch {
			case f.json:
				if err := s.out.object(l); err != nil {
					return err
				}
			case f.long:
				rows = append(rows, []string{l.Topic, strconv.Itoa(l.Partitions), strconv.Itoa(l.ReplicationFactor), l.ID})
			default:
				s.printf("%s\n", l.Topic)
			}
		}
		if f.long && !f.json {
			s.out.table("", rows)
		}
		return nil
	})
}

// replication returns the replication factor: the largest of the partitions', which differ during a reassignment.
func replication(t kmsg.MetadataResponseTopic) (n int) {
	for _, p := range t.Partitions {
		n = max(n, len(p.Replicas))
	}
	return n
}
