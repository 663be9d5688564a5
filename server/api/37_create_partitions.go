package api

// CreatePartitions (key 37), versions 0 to 3.
//
// Behaviours that matter:
//   - the answer comes when every new partition can be produced to and fetched from
//   - count is the new total: what is no increase is INVALID_PARTITIONS
//   - topics are independent: each has its own error, and those without grow, together
//   - a name that comes twice is refused, once; more than 10,000 new partitions refuse the whole request
//     (POLICY_VIOLATION)
//   - validate_only changes nothing
//   - while all log directories are offline nothing grows (KAFKA_STORAGE_ERROR)
//   - a timeout of 0 or less is REQUEST_TIMED_OUT, and changes nothing

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) createPartitions(r *wire.Request) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerCreatePartitions(req))
	return nil
}

func (b *Broker) answerCreatePartitions(req *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	topics, twice := onlyOnce(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	if len(topics) > 0 {
		all := b.update(req.TimeoutMillis, req.ValidateOnly, func(v view, c *batch) {
			resp.Topics = v.createPartitions(topics, c)
		})
		if all == nil && !req.ValidateOnly {
			b.checkGrown(resp.Topics)
		}
		if all != nil {
			resp.Topics = resp.Topics[:0]
			for i := range req.Topics {
				resp.Topics = append(resp.Topics, grown(req.Topics[i].Topic, all))
			}
			return resp
		}
	}
	for _, name := range twice {
		resp.Topics = append(resp.Topics, grown(name, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
	}
	return resp
}

// createPartitions decides on the topics of a request.
func (v view) createPartitions(topics []kmsg.CreatePartitionsRequestTopic, c *batch) []kmsg.CreatePartitionsResponseTopic {
	answers := make([]kmsg.CreatePartitionsResponseTopic, 0, len(topics))
	all := v.growTooMany(topics)
	for i := range topics {
		r := all
		if r == nil {
			r = v.grow(&topics[i], c)
		}
		answers = append(answers, grown(topics[i].Topic, r))
	}
	return answers
}

// growTooMany refuses a request for too many new partitions.
func (v view) growTooMany(topics []kmsg.CreatePartitionsRequestTopic) *refusal {
	total := 0
	for i := range topics {
		if t, ok := v.img.Topic(topics[i].Topic); ok {
			total += max(int(topics[i].Count)-t.Len(), 0)
		}
		if total > maxNewPartitions {
			return refuse(kerr.PolicyViolation, "Excessively large number of additional partitions per request.")
		}
	}
	return nil
}

// grow decides on one topic.
func (v view) grow(req *kmsg.CreatePartitionsRequestTopic, c *batch) *refusal {
	t, ok := v.img.Topic(req.Topic)
	if !ok {
		return &refusal{code: kerr.UnknownTopicOrPartition.Code}
	}
	more := int(req.Count) - t.Len()
	switch {
	case more == 0:
		return refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", t.Len())
	case more < 0:
		return refuse(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", req.Topic, t.Len(), req.Count)
	case req.Assignment != nil && len(req.Assignment) != more:
		return refuse(kerr.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			more, len(req.Assignment))
	}
	if r := checkFolder(req.Topic, int(req.Count)); r != nil {
		return r
	}
	if r := v.checkStorage(); r != nil {
		return r
	}
	replicas, r := v.growReplicas(t, more, req.Assignment, len(c.records))
	if r != nil {
		return r
	}
	for i := range replicas {
		c.add(v.newPartition(t.ID(), t.Len()+i, replicas[i]))
	}
	return nil
}

// growReplicas returns the brokers of new partitions, as many for each as the topic's first has.
func (v view) growReplicas(t metadata.Topic, more int, manual []kmsg.CreatePartitionsRequestTopicAssignment, made int) ([][]int32, *refusal) {
	first, _ := t.Partition(0)
	if manual == nil {
		return v.place(made, more, len(first.Replicas))
	}
	all := make([][]int32, 0, more)
	for i, a := range manual {
		if r := v.checkManual(t.Len()+i, a.Replicas, len(first.Replicas)); r != nil {
			return nil, r
		}
		all = append(all, a.Replicas)
	}
	return all, nil
}

func grown(name string, r *refusal) kmsg.CreatePartitionsResponseTopic {
	t := kmsg.NewCreatePartitionsResponseTopic()
	t.Topic = name
	t.ErrorCode, t.ErrorMessage = r.answer()
	return t
}
