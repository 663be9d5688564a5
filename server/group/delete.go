package group

import "github.com/twmb/franz-go/pkg/kerr"

// TopicPartition is a partition of a topic by name.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// DeleteOffsets is an OffsetDelete. reply gets the group's code and, if that is 0, one for each partition. Offsets of
// topics that members subscribe to are kept; offsets that are not there are deleted without a word.
func (g *Group) DeleteOffsets(_ Instant, partitions []TopicPartition, reply func(code int16, codes []int16)) Effects {
	if code := g.checkDeleteOffsets(); code != 0 {
		g.reply(func() { reply(code, nil) })
		return g.take()
	}
	codes := make([]int16, len(partitions))
	var records []Record
	var changes []change
	for i, tp := range partitions {
		if g.subscribesTo(tp.Topic) {
			codes[i] = kerr.GroupSubscribedToTopic.Code
		} else if c := g.offsets.cell(tp.Topic, tp.Partition); c != nil && c.latest != nil {
			records = append(records, offsetTombstone(g.id, tp.Topic, tp.Partition))
			changes = append(changes, g.offsets.begin(tp.Topic, tp.Partition, nil))
		}
	}
	if records == nil {
		g.reply(func() { reply(0, codes) })
		return g.take()
	}
	g.writeOffsets(records, changes, func(code int16) { reply(code, codes) })
	return g.take()
}

func (g *Group) checkDeleteOffsets() int16 {
	switch {
	case g.state == Dead:
		return kerr.GroupIDNotFound.Code
	case g.state != Empty && g.protocolType != consumerType:
		return kerr.NonEmptyGroup.Code
	}
	return 0
}

// Delete is a DeleteGroups of this group. reply gets the code once the tombstones are durable or the group has members.
func (g *Group) Delete(_ Instant, reply func(code int16)) Effects {
	switch g.state {
	case Dead:
		g.reply(func() { reply(kerr.GroupIDNotFound.Code) })
	case Empty:
		g.bury(reply)
	default:
		g.reply(func() { reply(kerr.NonEmptyGroup.Code) })
	}
	return g.take()
}

// bury writes tombstones for all offsets and for the group. It is Dead meanwhile, and back if that fails.
func (g *Group) bury(reply func(code int16)) {
	records, changes := g.forget(func(string, int32, *offset) bool { return true })
	records = append(records, groupTombstone(g.id))
	g.state = Dead
	clear(g.pending)
	g.write(records, func(_ Instant, code int16) {
		for _, ch := range changes {
			g.offsets.end(ch, code == 0)
		}
		if g.gone = code == 0; !g.gone {
			g.state = Empty
		}
		if reply != nil {
			g.reply(func() { reply(code) })
		}
	})
}

// forget begins the deletion of the offsets that which tells.
func (g *Group) forget(which func(topic string, partition int32, o *offset) bool) (records []Record, changes []change) {
	for _, topic := range g.offsets.names() {
		for _, p := range g.offsets.partitions(topic) {
			if o := g.offsets.cell(topic, p).latest; o != nil && which(topic, p, o) {
				records = append(records, offsetTombstone(g.id, topic, p))
				changes = append(changes, g.offsets.begin(topic, p, nil))
			}
		}
	}
	return records, changes
}

// Forget deletes the offsets of a topic that is gone (which may also look at the id that it was committed under).
func (g *Group) Forget(_ Instant, which func(topic string, id [16]byte) bool) Effects {
	if g.state == Dead {
		return Effects{}
	}
	records, changes := g.forget(func(topic string, _ int32, o *offset) bool { return which(topic, o.topicID) })
	if records != nil {
		g.writeOffsets(records, changes, nil)
	}
	return g.take()
}

// Expire deletes offsets that nobody has used for the retention time (KIP-211), and the group if it is empty and has
// none left.
//
//	offsets of                              expire
//	a commit that named a retention         when that is over
//	a group without members ever            retention after the commit
//	an Empty group                          retention after it became empty (after the commit, in old records)
//	a Stable group of consumers             retention after the commit, unless members subscribe to the topic
//	any other group                         never
func (g *Group) Expire(now Instant) Effects {
	if g.state == Dead {
		return Effects{}
	}
	expires := func(topic string, _ int32, o *offset) bool {
		return g.mayExpire() && !g.subscribesTo(topic) && g.expired(now, o)
	}
	if g.state == Empty && len(g.pending) == 0 && !g.holds(expires) {
		// The tombstones of offsets and group in one batch, so that no crash leaves half of them.
		g.bury(nil)
		return g.take()
	}
	if records, changes := g.forget(expires); records != nil {
		g.writeOffsets(records, changes, nil)
	}
	return g.take()
}

// mayExpire reports whether the group's state lets offsets expire.
func (g *Group) mayExpire() bool {
	return g.state == Empty || g.state == Stable && g.protocolType == consumerType && g.subscribed != nil
}

// holds reports whether an offset is left that does not expire.
func (g *Group) holds(expires func(topic string, partition int32, o *offset) bool) bool {
	for topic, cells := range g.offsets.topics {
		for p, c := range cells {
			if c.latest != nil && !expires(topic, p, c.latest) {
				return true
			}
		}
	}
	return false
}

func (g *Group) expired(now Instant, o *offset) bool {
	if o.expireAt >= 0 {
		return now.Wall >= o.expireAt
	}
	since := o.committedAt
	if g.state == Empty && g.protocolType != "" && g.stateSince >= 0 {
		since = g.stateSince
	}
	return now.Wall-since >= g.cfg.OffsetsRetentionMs
}
