package metadata

import (
	"iter"
	"maps"
)

// shardCount is how many pieces a hashed map has. A change copies the array of pieces (2 KiB) and one piece: with
// 10,000 keys about 40 of them.
const shardCount = 256

// hashed is an immutable map in shards. Versions share every shard that did not change between them.
type hashed[K interface {
	comparable
	shard() uint8
}, V any] struct {
	shards *[shardCount]map[K]V
	size   int
}

func (h hashed[K, V]) get(k K) (V, bool) {
	if h.shards == nil {
		var none V
		return none, false
	}
	v, ok := h.shards[k.shard()][k]
	return v, ok
}

// all visits every pair, in no order.
func (h hashed[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if h.shards == nil {
			return
		}
		for _, m := range h.shards {
			for k, v := range m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// hashedEdit builds the next version of a map. A shard is copied when it is first changed and changed in place from
// then on, so a thousand changes in one edit copy each shard at most once.
type hashedEdit[K interface {
	comparable
	shard() uint8
}, V any] struct {
	hashed[K, V]
	changed bool // the array of shards is this edit's own
	own     [shardCount]bool
}

func (e *hashedEdit[K, V]) shard(k K) *map[K]V {
	if !e.changed {
		next := new([shardCount]map[K]V)
		if e.shards != nil {
			*next = *e.shards
		}
		e.shards, e.changed = next, true
	}
	i := k.shard()
	if !e.own[i] {
		if e.shards[i] == nil {
			e.shards[i] = make(map[K]V)
		} else {
			e.shards[i] = maps.Clone(e.shards[i])
		}
		e.own[i] = true
	}
	return &e.shards[i]
}

func (e *hashedEdit[K, V]) set(k K, v V) {
	m := *e.shard(k)
	before := len(m)
	m[k] = v
	e.size += len(m) - before
}

func (e *hashedEdit[K, V]) remove(k K) {
	m := *e.shard(k)
	before := len(m)
	delete(m, k)
	e.size += len(m) - before
}

// topicName is a topic's name as a key.
type topicName string

func (n topicName) shard() uint8 { return shardOf(string(n)) }

// shard uses four of the random bytes of a UUID.
func (id ID) shard() uint8 { return id[0] ^ id[5] ^ id[10] ^ id[15] }

func (r Resource) shard() uint8 { return shardOf(r.Name) ^ uint8(r.Type) }

// shardOf is FNV-1a folded to a byte: names of a family ("orders-1", "orders-2") spread evenly.
func shardOf(s string) uint8 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}
