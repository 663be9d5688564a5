package metadata

import (
	"iter"
	"slices"
	"strings"
)

// Chunk sizes of an ordered set: a change copies one chunk and the list of chunks. With 10,000 names these are a few
// kilobytes each.
const (
	chunkMax  = 256
	chunkHalf = chunkMax / 2
)

// ordered is an immutable set of names in order, in chunks. Versions share every chunk that did not change.
// Every chunk has between 1 and chunkMax names.
type ordered struct{ chunks [][]string }

// from visits the names that are not below start, in order.
func (o ordered) from(start string) iter.Seq[string] {
	return func(yield func(string) bool) {
		// The last chunk whose first name is not above start may hold start.
		c, found := slices.BinarySearchFunc(o.chunks, start, func(chunk []string, s string) int {
			return strings.Compare(chunk[0], s)
		})
		if !found && c > 0 {
			c--
		}
		for ; c < len(o.chunks); c++ {
			chunk := o.chunks[c]
			i, _ := slices.BinarySearch(chunk, start)
			for _, name := range chunk[i:] {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// with returns the set after changes: names to add (true) and to remove (false).
func (o ordered) with(changes map[string]bool) ordered {
	if len(changes) == 0 {
		return o
	}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(o.chunks) == 0 {
		return ordered{appendChunks(nil, merge(nil, names, changes))}
	}
	next := make([][]string, 0, len(o.chunks)+len(names)/chunkHalf+1)
	for i, chunk := range o.chunks {
		// A chunk takes the changes up to the first name of the next one.
		n := len(names)
		if i+1 < len(o.chunks) {
			n, _ = slices.BinarySearch(names, o.chunks[i+1][0])
		}
		if n == 0 {
			next = append(next, chunk)
			continue
		}
		next = appendChunks(next, merge(chunk, names[:n], changes))
		names = names[n:]
	}
	return ordered{next}
}

// merge returns chunk with the changes of names applied.
func merge(chunk, names []string, changes map[string]bool) []string {
	out := make([]string, 0, len(chunk)+len(names))
	for _, name := range names {
		i, found := slices.BinarySearch(chunk, name)
		out = append(out, chunk[:i]...)
		if found {
			i++
		}
		chunk = chunk[i:]
		if changes[name] {
			out = append(out, name)
		}
	}
	return append(out, chunk...)
}

// appendChunks appends names as chunks, halved where they are too many for one, so that each has room to grow.
func appendChunks(chunks [][]string, names []string) [][]string {
	if len(names) <= chunkMax {
		if len(names) > 0 {
			chunks = append(chunks, names)
		}
		return chunks
	}
	for piece := range slices.Chunk(names, chunkHalf) {
		chunks = append(chunks, piece)
	}
	return chunks
}
