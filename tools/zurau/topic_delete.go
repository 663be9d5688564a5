package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type topicDeleteFlags struct {
	brokerFlags
	ifExists bool
}

func topicDeleteCommand() *cobra.Command {
	var f topicDeleteFlags
	c := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete topics with all their records",
		Args:  atLeastOne,
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.ifExists, "if-exists", false, "do nothing for a topic that does not exist")
	return c
}

func (f *topicDeleteFlags) run(c *cobra.Command, names []string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = f.requestMs()
	req.TopicNames = names // what versions before 6 read
	for _, n := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	return f.with(c, func(s session) error {
		resp, err := req.RequestWith(s.ctx, s.cl)
		if err != nil {
			return explain("delete", cause(s.ctx, err))
		}
		var errs []error
		for _, t := range resp.Topics {
			errs = append(errs, f.report(s, t))
		}
		return errors.Join(errs...)
	})
}

// deletedTopic is what --json prints.
type deletedTopic struct {
	Topic   string `json:"topic"`
	Deleted bool   `json:"deleted"`
}

func (f *topicDeleteFlags) report(s session, t kmsg.DeleteTopicsResponseTopic) error {
	name := ""
	if t.Topic != nil {
		name = *t.Topic
	}
	err := answered(about(name), t.ErrorCode, t.ErrorMessage)
	missing := f.ifExists && errors.Is(err, kerr.UnknownTopicOrPartition)
	switch {
	case err != nil && !missing:
		return err
	case f.json:
		return s.out.object(deletedTopic{name, !missing})
	case missing:
		s.printf("topic %s does not exist\n", name)
	default:
		s.printf("deleted topic %s\n", name)
	}
	return nil
}
