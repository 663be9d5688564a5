package fs

import (
	"maps"
	"slices"
)

// content returns what a power cut leaves of a file.
func (k *powerCut) content(d *inode) (pages, int64) {
	updates := slices.Clone(d.pending)
	running := d.size
	for _, fl := range d.flights {
		if !fl.sync && fl.at >= 0 {
			u := compose(d.live, running, fl.pushed, fl.at)
			updates = append(updates, u)
			if u.sizes {
				running = u.to
			}
		}
	}
	landed, size := k.chooseSize(d, updates)
	after := k.blocks(d, updates, landed)
	after.cut(size)
	return after, size
}

// chooseSize returns how many updates' size parts landed (those of updates[:landed], where they have one) and the size
// that follows.
func (k *powerCut) chooseSize(d *inode, updates []*update) (landed int, size int64) {
	floor := 0
	for i, u := range updates {
		if u.sized {
			floor = i + 1
		}
	}
	stops := []int{floor}
	for i := floor; i < len(updates); i++ {
		if updates[i].sizes && !updates[i].tied {
			stops = append(stops, i+1)
		}
	}
	landed = stops[0]
	last := stops[len(stops)-1]
	if k.policy == KeepAll || k.policy == Random && k.rng.IntN(3) == 0 {
		landed = last
	} else if k.policy == Random && k.rng.IntN(2) == 0 {
		landed = stops[k.rng.IntN(len(stops))]
	}
	size = d.baseSize
	var before, top *update
	for _, u := range updates[:landed] {
		if u.sizes {
			before, top = top, u
			size = u.to
		}
	}
	if k.policy == Random && landed > floor && !top.cuts() && (before == nil || !before.tied) && k.rng.IntN(2) == 0 {
		size = k.partly(top.from, top.to)
	}
	return landed, size
}

// partly returns a block boundary inside a growth, or its end: writeback extends a file page by page.
func (k *powerCut) partly(from, to int64) int64 {
	first := from/BlockSize + 1
	inside := (to-1)/BlockSize - first + 1
	if inside <= 0 {
		return to
	}
	return (first + k.rng.Int64N(inside)) * BlockSize
}

// blocks returns the content, before it is cut to its size.
func (k *powerCut) blocks(d *inode, updates []*update, landed int) pages {
	touched := map[int64]bool{}
	cut := false
	for i, u := range updates {
		for _, im := range u.images {
			touched[im.block] = true
		}
		cut = cut || i < landed && u.cuts()
	}
	after := maps.Clone(d.base)
	if cut {
		for block := range d.base {
			touched[block] = true
		}
	}
	history := k.histories(updates, landed)
	keep := k.odds()
	for _, block := range slices.Sorted(maps.Keys(touched)) {
		ground, versions := history.of(block, d.base[block])
		after[block] = k.land(ground, versions, keep)
		if after[block] == nil {
			delete(after, block)
		}
	}
	return after
}

// event is what happened to a block: a version of it, or a truncate that landed.
type event struct {
	image  image
	stays  bool // the image is on stable storage
	cutTo  int64
	isCut  bool
	number int // of the update
}

// histories is what happened, by block; cuts concern all blocks.
type histories struct {
	images map[int64][]event
	cuts   []event
}

func (k *powerCut) histories(updates []*update, landed int) histories {
	h := histories{images: map[int64][]event{}}
	for i, u := range updates {
		for _, im := range u.images {
			h.images[im.block] = append(h.images[im.block], event{image: im, stays: u.content, number: i})
		}
		if i < landed && u.cuts() {
			h.cuts = append(h.cuts, event{isCut: true, cutTo: u.to, number: i})
		}
	}
	return h
}

// of returns the state of a block that is certain and the versions that may lie over it, oldest first.
func (h histories) of(block int64, ground *page) (*page, []image) {
	events := append(slices.Clone(h.cuts), h.images[block]...)
	slices.SortStableFunc(events, func(a, b event) int { return a.number - b.number })
	var versions []image
	for _, e := range events {
		switch {
		case e.isCut:
			// What a landed truncate cut off does not come back: neither from the ground nor from an older version.
			keep := min(max(e.cutTo-block*BlockSize, 0), BlockSize)
			ground = ground.head(keep)
			for i := range versions {
				b := versions[i].bytes.copy()
				clear(b[keep:])
				versions[i].bytes = &b
			}
		case e.stays:
			ground = e.image.over(ground)
			for i := range versions {
				versions[i].sectors &^= e.image.sectors
			}
		default:
			versions = append(versions, e.image)
		}
	}
	return ground, versions
}

// land lays versions over the ground as the policy says.
func (k *powerCut) land(ground *page, versions []image, keep float64) *page {
	switch k.policy {
	case DropUnflushed:
		return ground
	case KeepAll:
		for _, v := range versions {
			ground = v.over(ground)
		}
		return ground
	}
	for _, i := range k.rng.Perm(len(versions)) {
		v := versions[i]
		if k.rng.Float64() >= keep {
			continue
		}
		if k.rng.IntN(4) == 0 {
			v.sectors &= uint8(k.rng.Uint32()) // torn
		}
		ground = v.over(ground)
	}
	return ground
}
