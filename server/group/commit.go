package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
)

// Commit is one offset of an OffsetCommit: Topic by name, TopicID where it is known.
type Commit struct {
	Topic       string
	TopicID     [16]byte
	Partition   int32
	Offset      int64
	LeaderEpoch int32 // -1: not known
	Metadata    string
}

// Committer is who commits. Generation -1 and no member: an offset store without a group.
type Committer struct {
	MemberID   string
	InstanceID *string
	Generation int32
	// RetentionMs is how long the offsets are kept, from v2–v4; -1: as long as the broker keeps them.
	RetentionMs int64
}

// CommitOffsets is an OffsetCommit. reply gets a code for each commit once they are durable or refused.
func (g *Group) CommitOffsets(now Instant, who Committer, commits []Commit, reply func(codes []int16)) Effects {
	codes := make([]int16, len(commits))
	if code := g.checkCommit(who); code != 0 {
		fill(codes, code)
		g.reply(func() { reply(codes) })
		return g.take()
	}
	if m := g.members[who.MemberID]; m != nil && (g.state == Stable || g.state == PreparingRebalance) {
		g.beat(now, m)
	}
	expireAt := int64(-1)
	if who.RetentionMs != -1 {
		expireAt = max(now.Wall+who.RetentionMs, 0)
	}
	var records []Record
	var changes []change
	for i, c := range commits {
		if len(c.Metadata) > g.cfg.MetadataMaxBytes && utf16Len(c.Metadata) > g.cfg.MetadataMaxBytes {
			codes[i] = kerr.OffsetMetadataTooLarge.Code
			continue
		}
		o := &offset{c.Offset, c.LeaderEpoch, c.Metadata, now.Wall, expireAt, c.TopicID}
		records = append(records, offsetRecord(g.id, c.Topic, c.Partition, o))
		changes = append(changes, g.offsets.begin(c.Topic, c.Partition, o))
	}
	if records == nil {
		g.reply(func() { reply(codes) })
		g.maybeGone()
		return g.take()
	}
	g.writeOffsets(records, changes, func(code int16) {
		for i := range codes {
			if codes[i] == 0 {
				codes[i] = code
			}
		}
		reply(codes)
	})
	return g.take()
}

// writeOffsets writes records with their changes; reply may be nil.
func (g *Group) writeOffsets(records []Record, changes []change, reply func(code int16)) {
	g.write(records, func(_ Instant, code int16) {
		for _, ch := range changes {
			g.offsets.end(ch, code == 0)
		}
		if reply != nil {
			g.reply(func() { reply(code) })
		}
		g.maybeGone()
	})
}

// checkCommit refuses a commit of who is not, or no more, a member of this generation.
func (g *Group) checkCommit(who Committer) int16 {
	switch {
	case g.state == Dead:
		return kerr.CoordinatorNotAvailable.Code
	case who.Generation < 0 && g.state == Empty:
		return 0
	case who.Generation < 0 && who.MemberID == "" && who.InstanceID == nil:
		return kerr.UnknownMemberID.Code // a commit without a member, into a group that has some
	}
	if _, code := g.check(who.MemberID, who.InstanceID); code != 0 {
		return code
	}
	switch {
	case who.Generation != g.generation:
		return kerr.IllegalGeneration.Code
	case g.state == CompletingRebalance:
		return kerr.RebalanceInProgress.Code
	}
	return 0
}

func fill(codes []int16, code int16) {
	for i := range codes {
		codes[i] = code
	}
}

// Offset is one answer of FetchOffsets.
type Offset struct {
	Topic       string
	Partition   int32
	Found       bool     // else Offset and LeaderEpoch are -1
	TopicID     [16]byte // the one it was committed under; zero: not known
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// FetchOffset returns the durable offset of a partition.
func (g *Group) FetchOffset(topic string, partition int32) Offset {
	if c := g.offsets.cell(topic, partition); c != nil && c.durable != nil {
		o := c.durable
		return Offset{topic, partition, true, o.topicID, o.offset, o.leaderEpoch, o.metadata}
	}
	return Offset{Topic: topic, Partition: partition, Offset: -1, LeaderEpoch: -1}
}

// FetchOffsets returns all durable offsets, by topic and partition.
func (g *Group) FetchOffsets() []Offset {
	var all []Offset
	for _, topic := range g.offsets.names() {
		for _, p := range g.offsets.partitions(topic) {
			if g.offsets.cell(topic, p).durable != nil {
				all = append(all, g.FetchOffset(topic, p))
			}
		}
	}
	return all
}

// Settled calls f once the writes that are in flight now are over: at once if there are none.
func (g *Group) Settled(f func()) Effects {
	if g.last != nil {
		g.last.after = append(g.last.after, f)
	} else {
		g.reply(f)
	}
	return g.take()
}
