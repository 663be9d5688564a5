package logdir

// A Placer chooses directories for the new partitions of one decision. The zero value has none to choose from.
type Placer struct {
	set   *Set // until the first look
	rooms []room
}

// A room is a directory with what it has left.
type room struct {
	dir  *Dir
	free float64 // bytes above the reserve, 0 for none
	logs float64 // and those that were placed
}

// Placer returns a placer over the directories that are online when it is first asked.
func (s *Set) Placer() *Placer { return &Placer{set: s} }

// Next returns the directory for the next new partition, or nil where there is none.
func (p *Placer) Next() *Dir {
	for _, d := range p.set.Online() {
		p.rooms = append(p.rooms, room{d, float64(max(d.engine.Room(), 0)), float64(d.logs.Load())})
	}
	p.set = nil
	if len(p.rooms) == 0 {
		return nil
	}
	best := 0
	for i := range p.rooms {
		if p.rooms[i].before(&p.rooms[best]) {
			best = i
		}
	}
	p.rooms[best].logs++
	return p.rooms[best].dir
}

// before reports whether a new log has more room in r than in o.
func (r *room) before(o *room) bool {
	mine, other := r.free/(r.logs+1), o.free/(o.logs+1)
	return mine > other || mine == other && r.logs < o.logs
}
