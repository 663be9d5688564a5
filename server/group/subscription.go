package group

import "encoding/binary"

// consumerType is the protocol type of consumers: the only one whose members' metadata the coordinator reads.
const consumerType = "consumer"

// subscribesTo reports whether members subscribe to a topic. Consumers whose subscription cannot be read may subscribe
// to any.
func (g *Group) subscribesTo(topic string) bool {
	if g.subscribed != nil {
		return g.subscribed[topic]
	}
	return g.protocolType == consumerType
}

// subscriptions returns the topics that the members subscribe to, or nil where that is not known.
func (g *Group) subscriptions() map[string]bool {
	if g.protocolType != consumerType {
		return nil
	}
	if len(g.members) > 0 && g.protocol == nil {
		return nil
	}
	all := map[string]bool{}
	for _, m := range g.members {
		if !readTopics(m.metadata(g.protocol), all) {
			return nil
		}
	}
	return all
}

// readTopics adds the topics of a consumer's subscription to a set. Whatever the version, it begins with
//
//	version int16 | number of topics int32 | topics: length int16, bytes
//
// It reports false for what does not.
func readTopics(b []byte, into map[string]bool) bool {
	if len(b) < 6 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for ; n > 0; n-- {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || size > len(b)-2 {
			return false
		}
		into[string(b[2:2+size])] = true
		b = b[2+size:]
	}
	return n == 0
}
