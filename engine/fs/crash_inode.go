package fs

import (
	"bytes"
	"slices"
)

// page is the content of one block. It is never changed once a map holds it, so that versions, snapshots and clones
// share it.
type page [BlockSize]byte

// pages is the content of a file by block number; a block that is missing is zeros, and so is what lies in the last
// block behind the file's end.
type pages map[int64]*page

// cut drops what lies behind size.
func (p pages) cut(size int64) {
	last := size / BlockSize
	for block := range p {
		if block > last || block == last && size%BlockSize == 0 {
			delete(p, block)
		}
	}
	if b := p[last]; b != nil {
		p[last] = b.head(size % BlockSize)
	}
}

// head returns the page with zeros from n on.
func (b *page) head(n int64) *page {
	if b == nil || n == 0 {
		return nil
	}
	c := *b
	clear(c[n:])
	return &c
}

// copy returns the content, zeros of a missing block.
func (b *page) copy() page {
	if b == nil {
		return page{}
	}
	return *b
}

// image is one version of a block: valid in the sectors whose bit is set.
type image struct {
	block   int64
	bytes   *page
	sectors uint8
}

// over lays the image over what was there.
func (im image) over(below *page) *page {
	if im.sectors == 1<<sectors-1 {
		return im.bytes
	}
	c := below.copy()
	for s := range sectors {
		if im.sectors&(1<<s) != 0 {
			copy(c[s*sector:(s+1)*sector], im.bytes[s*sector:])
		}
	}
	return &c
}

// update is one change of a file that is not known to be on stable storage as a whole. It has a content part, a size
// part, or both; they land apart.
type update struct {
	owner    *crashFile
	images   []image
	end      int64 // of the bytes of a write
	sizes    bool  // it has a size part:
	from, to int64 // the size before and after
	content  bool  // content is on stable storage
	sized    bool  // and so is the size
	tied     bool  // the size part lands only together with the next size part
	lost     bool  // a flush that failed should have covered it: no later one does
}

// cuts reports whether the update shrinks the file.
func (u *update) cuts() bool { return u.sizes && u.to < u.from }

// flushed reports whether nothing of the update is pending.
func (u *update) flushed() bool { return u.content && (u.sized || !u.sizes) }

// inode is the content of a file: what the process sees (live, size), what is on stable storage (base, baseSize), and
// the updates between them in the order of execution. Laying them all over base gives live.
type inode struct {
	name     string // at creation, for messages
	live     pages
	size     int64
	base     pages
	baseSize int64
	pending  []*update
	flights  []*flight // pushed to a queue and not completed
	handles  int
	links    int // names beyond the first
	unlinked bool
	late     error        // of the last write-back that failed
	lateNo   int          // how many have
	changed  int64        // how often the content or the size has
	shared   *crashShared // the newest mapping, which has the content
}

func newInode(name string) *inode { return &inode{name: name, live: pages{}, base: pages{}} }

// compose returns the update that a write makes, over the pages that are live and the given size.
func compose(live pages, size int64, p []byte, at int64) *update {
	u := &update{}
	end := at + int64(len(p))
	u.end = end
	var zero page // shared by all blocks of zeros, since logs lay out megabytes of them
	for pos := at; pos < end; {
		block, off := pos/BlockSize, pos%BlockSize
		im := image{block: block, bytes: &zero}
		n := min(BlockSize-off, end-pos)
		if part := p[pos-at:][:n]; !bytes.Equal(part, zero[:]) {
			b := live[block].copy()
			copy(b[off:], part)
			im.bytes = &b
		}
		for s := off / sector; s*sector < off+n; s++ {
			im.sectors |= 1 << s
		}
		u.images = append(u.images, im)
		pos += n
	}
	if end > size && len(p) > 0 {
		u.sizes, u.from, u.to = true, size, end
	}
	return u
}

// execute makes the update visible and leaves it pending. It returns by how many blocks the file grew.
func (d *inode) execute(u *update) (grown int64) {
	d.changed++
	before := len(d.live)
	for _, im := range u.images {
		d.live[im.block] = im.bytes
	}
	if u.sizes {
		d.size = u.to
	}
	if u.cuts() {
		d.live.cut(u.to)
	}
	d.pending = append(d.pending, u)
	return int64(len(d.live) - before)
}

// durableSize is the size that a cut can not take away.
func (d *inode) durableSize() int64 {
	size := d.baseSize
	for _, u := range d.pending {
		if u.sized {
			size = u.to
		}
	}
	return size
}

// flushOne puts one executed write on stable storage, as RWF_DSYNC does: its content, and a size that covers it.
//
// Where the size on disk covers it already, a pending truncate stays pending; but a later size must not come off the
// disk without the growth that brought this write back under it, so the size changes in between become one.
func (d *inode) flushOne(u *update, end int64) {
	u.content = true
	covered := end <= d.durableSize()
	cut := slices.ContainsFunc(d.pending, func(p *update) bool { return p.cuts() && !p.sized })
	var last *update
	for _, p := range d.pending {
		switch {
		case !p.sizes || p.sized:
		case !covered:
			p.sized = true
		case cut:
			if last != nil {
				last.tied = true
			}
			last = p
		}
	}
	d.compact()
}

// flush puts the updates on stable storage, as fdatasync does, but for those that an earlier failure lost. Where bytes were
// written again over lost ones, the size that covers them comes with them.
func (d *inode) flush(updates []*update) {
	end := int64(0)
	for _, u := range updates {
		if u.lost {
			continue
		}
		u.content, u.sized = true, u.sizes
		if end = max(end, u.end); u.cuts() {
			end = min(end, u.to)
		}
	}
	if end > d.durableSize() {
		for _, p := range d.pending {
			p.sized = p.sizes
		}
	}
	d.compact()
}

// lose marks what a failed flush should have covered.
func (d *inode) lose() {
	for _, u := range d.pending {
		u.lost = u.lost || !u.flushed()
	}
}

// compact moves the updates that nothing pending precedes to the base.
func (d *inode) compact() {
	done := 0
	for _, u := range d.pending {
		if !u.flushed() {
			break
		}
		for _, im := range u.images {
			d.base[im.block] = im.over(d.base[im.block])
		}
		if u.sizes {
			d.baseSize = u.to
		}
		if u.cuts() {
			d.base.cut(u.to)
		}
		done++
	}
	d.pending = append([]*update(nil), d.pending[done:]...)
}
