package api

// Metadata (key 3), versions 0 to 13.
//
// Behaviours that matter:
//   - brokers are at the addresses that they have for the listener the client came by
//   - no topics asks for all in version 0, null does in later ones, where an empty list asks for none
//   - topics that do not exist are made where the request and auto.create.topics.enable allow it. They are there before
//     the answer is, but the answer still says that they are unknown, as Kafka's does; clients ask again
//   - ids from version 10 on in answers, from 12 on in requests too: one id in a request and its names are not looked at
//   - replicas that cannot be reached are listed as offline from version 5 on, and left out altogether in version 0
//   - a partition whose log directory is offline has no leader (LEADER_NOT_AVAILABLE), an offline replica, and
//     nobody in sync
//   - authorized operations come where asked for (versions 8 to 10 for the cluster)
//   - Kafka loses its way in a request that has a topic with neither name nor id, and answers UNKNOWN_SERVER_ERROR

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/wire"
)

// largeImage is how many partitions are written on an event loop at most: some 100 microseconds.
const largeImage = 1000

func (b *Broker) metadata(r *wire.Request) error {
	req := kmsg.NewPtrMetadataRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	if code := checkMetadata(req); code != 0 {
		r.Reply(refuseMetadata(req, code))
		return nil
	}
	v := b.view(b.Metadata.Image())
	from := newVantage(v.img, r.Listener())
	controller := from.controller(b.NodeID, b.Metadata.Leader())
	create := v.missing(req)
	switch {
	case len(create) > 0:
		go func() {
			resp := from.answerMetadata(req, controller)
			b.autoCreate(create)
			r.Reply(resp)
		}()
	case v.img.PartitionCount() > largeImage:
		b.workers.do(func() { r.Reply(from.answerMetadata(req, controller)) })
	default:
		r.Reply(from.answerMetadata(req, controller))
	}
	return nil
}

// checkMetadata returns the code that a request is refused with as a whole.
func checkMetadata(req *kmsg.MetadataRequest) int16 {
	byID, nameless := false, false
	for _, t := range req.Topics {
		id := t.TopicID != [16]byte{}
		if req.Version < 12 && (t.Topic == nil || id) {
			return kerr.InvalidRequest.Code
		}
		byID = byID || id
		nameless = nameless || t.Topic == nil && !id
	}
	if nameless && !byID {
		return kerr.UnknownServerError.Code
	}
	return 0
}

// refuseMetadata is the answer to a request that is refused as a whole: it knows of no broker.
func refuseMetadata(req *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ErrorCode = code
	for _, t := range req.Topics {
		answer := kmsg.NewMetadataResponseTopic()
		answer.ErrorCode, answer.Topic, answer.TopicID = code, t.Topic, t.TopicID
		if answer.Topic == nil {
			answer.Topic = new(string)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

// allTopics reports whether a request asks for every topic.
func allTopics(req *kmsg.MetadataRequest) bool {
	return req.Topics == nil || req.Version == 0 && len(req.Topics) == 0
}

// answerMetadata answers by the image.
func (v *vantage) answerMetadata(req *kmsg.MetadataRequest, controller int32) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	for _, n := range v.nodes {
		if !n.fenced {
			resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: n.id, Host: n.host, Port: n.port, Rack: n.rack})
		}
	}
	resp.ClusterID, resp.ControllerID = &v.img.ClusterID, controller
	if allTopics(req) {
		for t := range v.img.Topics("") {
			resp.Topics = append(resp.Topics, v.topic(t, req.Version))
		}
	} else {
		v.chosen(req, resp)
	}
	if req.IncludeTopicAuthorizedOperations {
		for i := range resp.Topics {
			resp.Topics[i].AuthorizedOperations = topicOperations
		}
	}
	if req.IncludeClusterAuthorizedOperations && req.Version >= 8 && req.Version <= 10 {
		resp.AuthorizedOperations = clusterOperations
	}
	return resp
}

// chosen answers about the topics that a request names, each once.
func (v *vantage) chosen(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	ids, names := askedFor(req)
	for _, id := range ids {
		if t, ok := v.img.TopicByID(id); ok {
			resp.Topics = append(resp.Topics, v.topic(t, req.Version))
			continue
		}
		answer := kmsg.NewMetadataResponseTopic()
		answer.ErrorCode, answer.TopicID = kerr.UnknownTopicID.Code, id
		resp.Topics = append(resp.Topics, answer)
	}
	for i, name := range names {
		if t, ok := v.img.Topic(name); ok {
			resp.Topics = append(resp.Topics, v.topic(t, req.Version))
			continue
		}
		answer := kmsg.NewMetadataResponseTopic()
		answer.Topic, answer.IsInternal = &names[i], internalTopic(name)
		answer.ErrorCode = missingTopic(name)
		resp.Topics = append(resp.Topics, answer)
	}
}

// missingTopic is the code for a topic that does not exist: it may be one that cannot.
func missingTopic(name string) int16 {
	if r := checkTopicName(name); r != nil {
		return r.code
	}
	return kerr.UnknownTopicOrPartition.Code
}

// askedFor lists the ids that a request names, or the names where it has no id.
func askedFor(req *kmsg.MetadataRequest) (ids [][16]byte, names []string) {
	seenID, seenName := map[[16]byte]bool{}, map[string]bool{}
	for _, t := range req.Topics {
		switch {
		case t.TopicID != [16]byte{}:
			if !seenID[t.TopicID] {
				seenID[t.TopicID] = true
				ids = append(ids, t.TopicID)
			}
		case t.Topic != nil && !seenName[*t.Topic]:
			seenName[*t.Topic] = true
			names = append(names, *t.Topic)
		}
	}
	if len(ids) > 0 {
		names = nil
	}
	return ids, names
}

// topic describes a topic that exists.
func (v *vantage) topic(t metadata.Topic, version int16) kmsg.MetadataResponseTopic {
	answer := kmsg.NewMetadataResponseTopic()
	name := t.Name()
	answer.Topic, answer.TopicID, answer.IsInternal = &name, t.ID(), t.Internal()
	answer.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.Len())
	for p := range t.Partitions() {
		answer.Partitions = append(answer.Partitions, v.partition(p, version))
	}
	return answer
}

func (v *vantage) partition(p metadata.Partition, version int16) kmsg.MetadataResponseTopicPartition {
	answer := kmsg.NewMetadataResponseTopicPartition()
	answer.Partition, answer.LeaderEpoch = p.ID, p.LeaderEpoch
	answer.Leader, answer.ErrorCode = v.leader(p, version >= 6)
	answer.Replicas, answer.OfflineReplicas = p.Replicas, v.offlineReplicas(p)
	answer.ISR, _ = v.inSync(p)
	if version == 0 {
		answer.Replicas, answer.ISR = v.known(p.Replicas), v.known(answer.ISR)
		if answer.ErrorCode == 0 && (len(answer.Replicas) < len(p.Replicas) || len(answer.ISR) < len(p.ISR)) {
			answer.ErrorCode = kerr.ReplicaNotAvailable.Code
		}
	}
	return answer
}
