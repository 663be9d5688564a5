package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type topicAlterFlags struct {
	brokerFlags
	partitions int32
	set, unset []string
}

func topicAlterCommand() *cobra.Command {
	var f topicAlterFlags
	c := &cobra.Command{
		Use:   "alter NAME",
		Short: "Add partitions to a topic, or change its configs",
		Long: `Add partitions to a topic, or change its configs. Partitions can not be taken away again, and records with keys
go to other partitions than before.`,
		Example: `  zurau topic alter orders --partitions 12
  zurau topic alter orders --config retention.ms=3600000 --delete-config retention.bytes`,
		Args: argsBetween(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.add(c)
	c.Flags().Int32Var(&f.partitions, "partitions", 0, "how many partitions the topic is to have")
	c.Flags().StringArrayVar(&f.set, "config", nil, "a config to set, `KEY=VALUE`; may be repeated")
	c.Flags().StringArrayVar(&f.unset, "delete-config", nil, "a config to set back to its default, `KEY`; may be repeated")
	return c
}

func (f *topicAlterFlags) run(c *cobra.Command, name string) error {
	grow := c.Flags().Changed("partitions")
	set, err := pairs("config", f.set)
	switch {
	case err != nil:
		return err
	case grow && f.partitions < 1:
		return usagef("--partitions %d: want 1 or more", f.partitions)
	case !grow && len(set) == 0 && len(f.unset) == 0:
		return usagef("%s: say what to change: --partitions, --config or --delete-config", named(c))
	}
	return f.with(c, func(s session) error {
		if len(set)+len(f.unset) > 0 {
			if err := f.changeConfigs(s, name, set); err != nil {
				return err
			}
		}
		if grow {
			if err := f.addPartitions(s, name); err != nil {
				return err
			}
		}
		if f.json {
			return s.out.object(alteredTopic{name, f.partitions, keys(set), f.unset})
		}
		return nil
	})
}

// alteredTopic is what --json prints.
type alteredTopic struct {
	Topic      string   `json:"topic"`
	Partitions int32    `json:"partitions,omitempty"`
	Set        []string `json:"set,omitempty"`
	Deleted    []string `json:"deleted,omitempty"`
}

func keys(set []pair) (all []string) {
	for _, p := range set {
		all = append(all, p.key)
	}
	return all
}

// The operations that alter uses; there are append and subtract too, for lists.
const (
	setConfig    = kmsg.IncrementalAlterConfigOpSet
	deleteConfig = kmsg.IncrementalAlterConfigOpDelete
)

func (f *topicAlterFlags) changeConfigs(s session, name string, set []pair) error {
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, name
	change := func(op kmsg.IncrementalAlterConfigOp, key string, value *string) {
		kv := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		kv.Name, kv.Op, kv.Value = key, op, value
		res.Configs = append(res.Configs, kv)
	}
	for _, p := range set {
		change(setConfig, p.key, &p.value)
	}
	for _, k := range f.unset {
		change(deleteConfig, k, nil)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, res)
	resp, err := req.RequestWith(s.ctx, s.cl)
	if err != nil {
		return explain(about(name), cause(s.ctx, err))
	}
	var errs []error
	for _, r := range resp.Resources {
		errs = append(errs, answered(about(name), r.ErrorCode, r.ErrorMessage))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !f.json {
		s.printf("topic %s: changed %s\n", name, strings.Join(append(keys(set), f.unset...), ", "))
	}
	return nil
}

func (f *topicAlterFlags) addPartitions(s session, name string) error {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, f.partitions
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, t), f.requestMs()
	resp, err := req.RequestWith(s.ctx, s.cl)
	if err != nil {
		return explain(about(name), cause(s.ctx, err))
	}
	for _, r := range resp.Topics {
		if err := answered(about(r.Topic), r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	if !f.json {
		s.printf("topic %s: %s\n", name, plural(f.partitions, "partition"))
	}
	return nil
}
