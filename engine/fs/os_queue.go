package fs

// NewQueue refuses: the host's queue needs a ring.
func (host) NewQueue(int) (Queue, error) { return nil, ErrUnsupported }
