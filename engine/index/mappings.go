package index

import "sync"

// Mappings bounds how many indexes at rest keep their file mapped or in memory, over all that were given to it with
// Bound. A process may have 65,530 mappings (vm.max_map_count); a broker with 10,000 partitions of many segments would
// pass that. Safe for concurrent use; its lock is taken inside an index's, never the other way.
type Mappings struct {
	limit int
	mu    struct {
		sync.Mutex
		set map[*table]struct{}
	}
}

// NewMappings returns a bound of limit indexes, at least 1.
func NewMappings(limit int) *Mappings {
	m := &Mappings{limit: max(limit, 1)}
	m.mu.set = make(map[*table]struct{})
	return m
}

// Len returns how many indexes are mapped or in memory, for a metric.
func (m *Mappings) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mu.set)
}

// add counts t in and returns one to evict when there are too many: any that no lookup has used since it was last
// asked, else any.
func (m *Mappings) add(t *table) (evict *table) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.set[t] = struct{}{}
	if len(m.mu.set) <= m.limit {
		return nil
	}
	for u := range m.mu.set { // in random order, which is all the fairness that is needed
		if u == t {
			continue
		}
		evict = u
		if !u.used.Swap(false) {
			break
		}
	}
	delete(m.mu.set, evict)
	return evict
}

func (m *Mappings) remove(t *table) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.set, t)
}

// evict drops the view of t, which may be nil. If t was mapped again meanwhile, it loses that too: no harm.
func (t *table) evict() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unmap()
}

// Bound puts the index under m. It must be called before the first lookup.
func (t *table) Bound(m *Mappings) { t.bound = m }
