package api

// DeleteTopics (key 20), versions 1 to 6.
//
// Behaviours that matter:
//   - the answer comes when the topics are gone: nothing can be produced to them or fetched, and their names are free
//   - by name, from version 6 on also by id; never by both, and one topic never twice (INVALID_REQUEST)
//   - topics are independent: each has its own error
//   - internal topics can be deleted, as in Kafka
//   - delete.topic.enable=false is TOPIC_DELETION_DISABLED, before version 3 INVALID_REQUEST
//   - a timeout of 0 or less is REQUEST_TIMED_OUT, and deletes nothing

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) deleteTopics(r *wire.Request) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerDeleteTopics(req))
	return nil
}

func (b *Broker) answerDeleteTopics(req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	if req.Version < 6 {
		req.Topics = nil
		for i := range req.TopicNames {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &req.TopicNames[i]})
		}
	}
	resp := kmsg.NewPtrDeleteTopicsResponse()
	all := b.mayDelete(req.Version)
	if all == nil {
		all = b.update(req.TimeoutMillis, false, func(v view, c *batch) {
			resp.Topics = v.deleteTopics(req.Topics, c)
		})
	}
	if all != nil {
		resp.Topics = resp.Topics[:0]
		for _, t := range req.Topics {
			resp.Topics = append(resp.Topics, notDeleted(t.Topic, t.TopicID, all))
		}
	}
	return resp
}

// mayDelete refuses where the configuration allows no deletion.
func (b *Broker) mayDelete(version int16) *refusal {
	switch enabled := b.view(b.Metadata.Image()).layers.Bool("delete.topic.enable"); {
	case enabled:
		return nil
	case version < 3:
		return refuse(kerr.InvalidRequest, "Topic deletion is disabled.")
	}
	return refuse(kerr.TopicDeletionDisabled, "Topic deletion is disabled.")
}

// deleteTopics decides on the topics of a request.
func (v view) deleteTopics(topics []kmsg.DeleteTopicsRequestTopic, c *batch) []kmsg.DeleteTopicsResponseTopic {
	d := deletion{view: v, batch: c}
	var names []string
	var ids [][16]byte
	for _, t := range topics {
		switch noID := t.TopicID == [16]byte{}; {
		case t.Topic == nil && noID:
			d.answer(nil, t.TopicID, refuse(kerr.InvalidRequest, "Neither topic name nor id were specified."))
		case t.Topic == nil:
			ids = append(ids, t.TopicID)
		case noID:
			names = append(names, *t.Topic)
		default:
			d.answer(t.Topic, t.TopicID, refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id."))
		}
	}
	d.resolve(names, ids)
	d.remove()
	return d.answers
}

// deletion decides on the topics that one request deletes.
type deletion struct {
	view
	*batch
	answers []kmsg.DeleteTopicsResponseTopic
	topics  []metadata.Topic
}

// resolve finds the topics, and refuses what is unknown and what is named twice, as name, as id or as one of each.
func (d *deletion) resolve(names []string, ids [][16]byte) {
	names, sameName := onlyOnce(names, func(s *string) string { return *s })
	ids, sameID := onlyOnce(ids, func(id *[16]byte) [16]byte { return *id })
	for i := range sameName {
		d.answer(&sameName[i], [16]byte{}, refuse(kerr.InvalidRequest, "Duplicate topic name."))
	}
	taken := map[metadata.ID]bool{} // true: to be deleted by its id
	for _, id := range sameID {
		taken[id] = false
		d.answer(nil, id, refuse(kerr.InvalidRequest, "Duplicate topic id."))
	}
	for _, id := range ids {
		if _, ok := d.img.TopicByID(id); ok {
			taken[id] = true
		} else {
			d.answer(nil, id, refuse(kerr.UnknownTopicID, "This server does not host this topic ID."))
		}
	}
	for i := range names {
		t, ok := d.img.Topic(names[i])
		if !ok {
			d.answer(&names[i], [16]byte{}, refuse(kerr.UnknownTopicOrPartition, "This server does not host this topic-partition."))
		} else if _, byID := taken[t.ID()]; byID {
			taken[t.ID()] = false
			d.answer(&names[i], t.ID(), refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied."))
		} else {
			d.topics = append(d.topics, t)
		}
	}
	for _, id := range ids {
		if t, ok := d.img.TopicByID(id); ok && taken[id] {
			d.topics = append(d.topics, t)
		}
	}
}

// remove deletes what was found.
func (d *deletion) remove() {
	for _, t := range d.topics {
		name := t.Name()
		d.add(metadata.RemoveTopicRecord{ID: t.ID()})
		d.answer(&name, t.ID(), nil)
	}
}

func (d *deletion) answer(name *string, id [16]byte, r *refusal) {
	d.answers = append(d.answers, notDeleted(name, id, r))
}

// notDeleted is the answer about a topic: without a refusal it is deleted.
func notDeleted(name *string, id [16]byte, r *refusal) kmsg.DeleteTopicsResponseTopic {
	t := kmsg.NewDeleteTopicsResponseTopic()
	t.Topic, t.TopicID = name, id
	t.ErrorCode, t.ErrorMessage = r.answer()
	return t
}
