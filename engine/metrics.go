package engine

import "time"

// Metrics are functions that an engine calls when something has happened, for whoever counts: no registry comes with it. Each
// may be nil, which costs nothing, not even a look at the clock. They run where it happened, some under locks and on goroutines that
// others wait for: they add to a number and return. Each may be called from several goroutines at once.
//
// What else there is to see is asked for when it is wanted: Room, Busy, Recovery, Log.Size, Log.HighWatermark and so on. What
// takes a directory offline is told by Options.OnFailure.
type Metrics struct {
	// Append is an append that got its offsets: the bytes of its batches, and its records.
	Append func(bytes int, records int64)
	// Refuse is an append that got no offsets, and why: ErrNoSpace, ErrBusy, ErrOffline, ErrTooLargeForSegment, ErrDeleted or ErrClosed, to be
	// told with errors.Is, or what its producer did wrong. An append that waits when its directory fails is none.
	Refuse func(why error)
	// Write is a write that a writer has made, of all that waited: its bytes, and how long it took, with the flush where the log is sync.
	Write func(bytes int, took time.Duration)
	// Flush is a flush of a log's files apart from a write: of what was written since the last one.
	Flush func(took time.Duration)
	// Read is a range that was found for a reader, of so many bytes: whether they are read is up to him.
	Read func(bytes int)
	// Checkpoint is one of all logs that were written since the last one.
	Checkpoint func(took time.Duration)
	// Open is a log file that was opened, for its writer or for readers, and Close one of these that was closed: the difference is what
	// Options.Descriptors bounds. evicted says that it was closed to make room for others. After Engine.Close there are as many of both,
	// but for readers that hold a Range.
	Open  func()
	Close func(evicted bool)
}

// clock returns the time where somebody asks how long something takes.
func clock(asked bool) (t time.Time) {
	if asked {
		t = time.Now()
	}
	return t
}

func (m *Metrics) appended(bytes int, records int64) {
	if m.Append != nil {
		m.Append(bytes, records)
	}
}

func (m *Metrics) refused(why error) {
	if m.Refuse != nil {
		m.Refuse(why)
	}
}

func (m *Metrics) wrote(bytes int, began time.Time) {
	if m.Write != nil {
		m.Write(bytes, time.Since(began))
	}
}

func (m *Metrics) flushed(began time.Time) {
	if m.Flush != nil {
		m.Flush(time.Since(began))
	}
}

func (m *Metrics) read(bytes int) {
	if m.Read != nil && bytes > 0 {
		m.Read(bytes)
	}
}

func (m *Metrics) checkpointed(began time.Time) {
	if m.Checkpoint != nil {
		m.Checkpoint(time.Since(began))
	}
}
