package config

// Group is what a group's settings come to, those that zurau acts on: of KIP-848's consumer groups. Times are in
// milliseconds.
type Group struct {
	SessionMs    int32
	HeartbeatMs  int32
	AssignmentMs int32 // between two computations of the assignment
}

// Group works out a group's settings from its own. What is out of the broker's bounds is taken to them: they may have
// become narrower since it was set.
func (l Layers) Group(overrides map[string]string) Group {
	r := ownReader{groupKeys, l, overrides}
	within := func(name string) int32 {
		n := r.int(name)
		for _, b := range bounds {
			if b.name == name {
				return max(l.Int(b.least), min(n, l.Int(b.most)))
			}
		}
		return n
	}
	return Group{
		SessionMs: within("consumer.session.timeout.ms"), HeartbeatMs: within("consumer.heartbeat.interval.ms"),
		AssignmentMs: within("consumer.assignment.interval.ms"),
	}
}
