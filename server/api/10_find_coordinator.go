package api

// FindCoordinator (key 10), versions 0 to 6.
//
// Behaviours that matter:
//   - key types: 0 a group, 1 (v1) a transactional id, 2 (v6) a share group's partition as group:topic id:partition;
//     others, and keys of type 2 that are not so, are INVALID_REQUEST
//   - any key will do, the empty one too: a coordinator is found by its hash
//   - the first request for a group makes __consumer_offsets, and is answered when it is there; Kafka has the client
//     come back
//   - the answer is where the coordinator can be reached by the listener that the client came by
//   - a transactional id's coordinator is this broker, for InitProducerId; share groups have none:
//     COORDINATOR_NOT_AVAILABLE
//   - from version 4 on several keys may be asked for, and only a wrong type has a message

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/offsets"
	"github.com/zurau/zurau/server/wire"
)

// What a key of FindCoordinator names.
const (
	groupKey         = 0
	transactionalKey = 1
	shareKey         = 2
)

func (b *Broker) findCoordinator(r *wire.Request) error {
	req := kmsg.NewPtrFindCoordinatorRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	answer := func() { r.Reply(b.coordinators(r.Listener(), req)) }
	if req.CoordinatorType == groupKey {
		b.coordinated(answer)
	} else {
		answer()
	}
	return nil
}

func (b *Broker) coordinators(listener string, req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version < 4 {
		c := b.coordinatorOf(listener, req.Version, req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = c.ErrorCode, c.NodeID, c.Host, c.Port
		resp.ErrorMessage = kmsg.StringPtr("NONE") // what Kafka says where there is no error
		if err := kerr.TypedErrorForCode(c.ErrorCode); err != nil {
			resp.ErrorMessage = &err.Description
		}
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, b.coordinatorOf(listener, req.Version, req.CoordinatorType, key))
	}
	return resp
}

// coordinatorOf finds the coordinator of one key.
func (b *Broker) coordinatorOf(listener string, version int16, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port, c.ErrorMessage = key, -1, -1, new(string)
	img := b.Metadata.Image()
	node := b.NodeID
	switch {
	case kind == groupKey:
		p, ok := partitionIn(img, offsets.Topic, b.Groups.PartitionFor(key))
		if !ok || p.Leader < 0 || !directoryOnline(img, p, p.Leader) {
			c.ErrorCode = kerr.CoordinatorNotAvailable.Code
			return c
		}
		node = p.Leader
	case kind == transactionalKey:
	case kind == shareKey && version >= 6 && isShareKey(key):
		c.ErrorCode = kerr.CoordinatorNotAvailable.Code
		return c
	default:
		c.ErrorCode = kerr.InvalidRequest.Code
		if kind != shareKey {
			c.ErrorMessage = &kerr.InvalidRequest.Description
		}
		return c
	}
	e, ok := endpointOf(img, node, listener)
	if !ok {
		c.ErrorCode = kerr.CoordinatorNotAvailable.Code
		return c
	}
	c.NodeID, c.Host, c.Port = node, e.Host, int32(e.Port)
	return c
}

// isShareKey reports whether a key names a partition of a share group. The group's name has no colon here, as in Kafka.
func isShareKey(key string) bool {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || parts[0] == "" {
		return false
	}
	_, noID := metadata.ParseID(parts[1])
	_, noNumber := strconv.ParseInt(parts[2], 10, 32)
	return noID == nil && noNumber == nil
}

// partitionIn returns a partition of a topic that may not be there.
func partitionIn(img *metadata.Image, topic string, i int32) (metadata.Partition, bool) {
	t, ok := img.Topic(topic)
	if !ok {
		return metadata.Partition{}, false
	}
	return t.Partition(i)
}

// endpointOf returns where a broker that serves clients is reached by a listener.
func endpointOf(img *metadata.Image, node int32, listener string) (metadata.Endpoint, bool) {
	broker, ok := img.Broker(node)
	if !ok || broker.Fenced {
		return metadata.Endpoint{}, false
	}
	for _, e := range broker.Endpoints {
		if e.Name == listener {
			return e, true
		}
	}
	return metadata.Endpoint{}, false
}
