package api

// maxProduceParts bounds the partitions of one request, and its topics: 15 MB of them here, where Kafka's frame limit of 100 MiB
// would let through 2 GB. Producers send to a broker's partitions, some thousands.
const maxProduceParts = 100_000

// parse reads the request's body in place. It may be called again when the body has moved.
//
//	transactional id | int16 acks | int32 timeout | [topic | [int32 partition | records | tags] | tags] | tags
//
// A topic is a name up to version 12 and an id from 13 on. From version 9 on lengths are compact and tags are there.
func (p *produceRequest) parse(in *reader) error {
	p.transactional = in.nullableString() != nil
	p.acks = in.Int16()
	in.Int32() // timeout: nothing here waits for other brokers
	p.topics, p.parts = p.topics[:0], p.parts[:0]
	for n := in.arrayLen(); n > 0 && in.Ok() && !p.tooMany(); n-- {
		p.parseTopic(in)
	}
	in.tags()
	return in.end("Produce", p.tooMany())
}

func (p *produceRequest) tooMany() bool {
	return len(p.parts) > maxProduceParts || len(p.topics) > maxProduceParts
}

func (p *produceRequest) parseTopic(in *reader) {
	t := produceTopic{first: len(p.parts)}
	if in.version >= 13 {
		t.id = in.Uuid()
		t.topic = p.b.Partitions.ByID(t.id)
	} else {
		name := in.string()
		if t.topic = p.b.Partitions.ByNameBytes(name); t.topic != nil {
			t.name = t.topic.Name
		} else {
			t.name = string(name)
		}
	}
	var twice places
	for n := in.arrayLen(); n > 0 && in.Ok() && !p.tooMany(); n-- {
		part := producePart{req: p, index: in.Int32()}
		part.records, part.null = in.nullableBytes()
		in.tags()
		// Named twice, a partition is appended to once, what was named last.
		if i := twice.find(part.index, t.first, len(p.parts), func(i int) int32 { return p.parts[i].index }); i >= 0 {
			p.parts[i] = part
		} else {
			p.parts = append(p.parts, part)
		}
	}
	in.tags()
	t.n = len(p.parts) - t.first
	p.topics = append(p.topics, t)
}
