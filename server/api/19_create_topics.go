package api

// CreateTopics (key 19), versions 2 to 7.
//
// Behaviours that matter:
//   - the answer comes when every partition can be produced to and fetched from, and the configs are in force
//   - topics are independent: each has its own error, and those without are made, together
//   - a name that comes twice is refused, once; more than 10,000 partitions or records refuse the whole request
//     (POLICY_VIOLATION)
//   - -1 partitions and replicas are the broker's defaults, in versions before 4 (KIP-464) too
//   - from version 5 on the answer describes the topic and its configs, from 7 on it has the topic's id
//   - while all log directories are offline nothing is made (KAFKA_STORAGE_ERROR)
//   - validate_only answers all of that and makes nothing; its id is nobody's
//   - a timeout of 0 or less is REQUEST_TIMED_OUT, and makes nothing

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) createTopics(r *wire.Request) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerCreateTopics(req))
	return nil
}

func (b *Broker) answerCreateTopics(req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	topics, twice := onlyOnce(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	if len(topics) > 0 {
		all := b.update(req.TimeoutMillis, req.ValidateOnly, func(v view, c *batch) {
			resp.Topics = v.createTopics(req.Version, topics, c)
		})
		if all == nil && !req.ValidateOnly {
			b.undoUnmade(resp.Topics)
		}
		if all != nil {
			resp.Topics = resp.Topics[:0]
			for i := range req.Topics {
				resp.Topics = append(resp.Topics, notCreated(req.Topics[i].Topic, all))
			}
			return resp
		}
	}
	for _, name := range twice {
		resp.Topics = append(resp.Topics, notCreated(name, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
	}
	return resp
}

// createTopics decides on the topics of a request.
func (v view) createTopics(version int16, topics []kmsg.CreateTopicsRequestTopic, c *batch) []kmsg.CreateTopicsResponseTopic {
	answers := make([]kmsg.CreateTopicsResponseTopic, 0, len(topics))
	if r := v.tooMany(topics); r != nil {
		for i := range topics {
			answers = append(answers, notCreated(topics[i].Topic, r))
		}
		return answers
	}
	d := creation{view: v, batch: c}
	for i := range topics {
		made, r := d.topic(&topics[i])
		answer := notCreated(topics[i].Topic, r)
		if r == nil {
			made.answer(v, version, &answer)
		}
		answers = append(answers, answer)
	}
	return answers
}

// tooMany refuses a request for too many partitions, whatever else is wrong with it.
func (v view) tooMany(topics []kmsg.CreateTopicsRequestTopic) *refusal {
	total := 0
	for i := range topics {
		if total += v.count(&topics[i]); total > maxNewPartitions {
			return refuse(kerr.PolicyViolation, "Excessively large number of partitions per request.")
		}
	}
	return nil
}

// notCreated is the answer about a topic without what is said of one that was made.
func notCreated(name string, r *refusal) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic = name
	t.ErrorCode, t.ErrorMessage = r.answer()
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // not null, which says that they may not be seen
	return t
}

// onlyOnce divides a list into what comes once by its name, and the names that come more often, both in order.
func onlyOnce[T any, K comparable](list []T, name func(*T) K) (once []T, twice []K) {
	seen := make(map[K]int, len(list))
	for i := range list {
		seen[name(&list[i])]++
	}
	for i := range list {
		k := name(&list[i])
		switch n := seen[k]; {
		case n == 1:
			once = append(once, list[i])
		case n > 1:
			twice = append(twice, k)
			seen[k] = 0
		}
	}
	return once, twice
}
