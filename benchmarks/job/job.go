package job

import (
	"fmt"
	"time"
)

// A Pattern is what a job does.
type Pattern string

const (
	Write Pattern = "write"
	Read  Pattern = "read"
	Mixed Pattern = "rw" // reads and writes, by ReadPercent
)

// A Sync is how writes become durable as they are made.
type Sync string

const (
	NoSync    Sync = ""
	Dsync     Sync = "dsync"     // O_DSYNC, RWF_DSYNC
	FullSync  Sync = "sync"      // O_SYNC
	Fdatasync Sync = "fdatasync" // fdatasync(2) behind every SyncEvery'th write
	Fsync     Sync = "fsync"     // fsync(2) likewise
)

// A Job is one section of a file, with what it has from [global]. Clones of it run beside each other.
type Job struct {
	Name string
	Line int // of its section
	// Keys are fio's as they were given, those of [global] first; where a name comes twice the last counts.
	Keys []Key

	Pattern     Pattern
	BlockSize   int64 // bytes
	Size        int64 // bytes of all files of one clone
	Files       int   // of one clone
	Filename    string
	Clones      int
	Depth       int // requests in flight of one clone
	Engine      string
	Direct      bool
	Sync        Sync
	SyncEvery   int // writes between two fdatasync or fsync; 1 with Dsync and FullSync
	ReadPercent int // of a Mixed job's requests

	// Rate is bytes a second of one clone, RateIOPS requests a second; 0 is as fast as it goes. Poisson spaces the requests
	// at random, as independent clients do, instead of evenly.
	Rate, RateIOPS int64
	Poisson        bool

	Runtime    time.Duration // 0: until Size is done
	TimeBased  bool          // goes on past Size until Runtime is over
	Ramp       time.Duration // at the start, not measured; 0 is until the suite finds it steady
	StartDelay time.Duration

	Overwrite  bool // the files are written once before
	PreRead    bool // the page cache has them
	Invalidate bool // the page cache is emptied of them first
	Stonewall  bool // starts when all jobs before it have ended

	Own Own
}

// Own is what "#zurau:" comments say, for the engine and the broker.
type Own struct {
	// Batch is the bytes of a record batch where it is to differ from fio's bs, which a device wants in blocks.
	Batch int64
	// Record is the bytes of a record's value; 0 is 1000.
	Record int64
	// Codec is how batches are compressed, by Kafka's name; empty is not at all. Batch is their size before it.
	Codec string
	// FlushMs is flush.ms of the logs, Retention retention.bytes, Segment segment.bytes; 0 leaves them.
	FlushMs            int64
	Retention, Segment int64
	// Recover is the bytes of a log that is recovered again and again beside the job, as after a crash; engine only.
	Recover int64
	// Connections is how many connections the requests in flight of one clone share; 0 is one for each, 32 at most.
	Connections int
	// Streams is for the level above the device: requests in flight of one clone where they are to differ from iodepth.
	Streams int
}

// A Key is one line of a section.
type Key struct {
	Name, Value string
	Line        int
}

// Batch returns the bytes of one append or read above the device.
func (j *Job) Batch() int64 {
	if j.Own.Batch > 0 {
		return j.Own.Batch
	}
	return j.BlockSize
}

// Record returns the bytes of a record's value.
func (j *Job) Record() int64 {
	if j.Own.Record > 0 {
		return j.Own.Record
	}
	return 1000
}

// Streams returns the requests in flight of all clones above the device.
func (j *Job) Streams() int {
	if j.Own.Streams > 0 {
		return j.Own.Streams * j.Clones
	}
	return j.Depth * j.Clones
}

// Logs returns how many files all clones have together: they share one that has a name.
func (j *Job) Logs() int {
	if j.Filename != "" {
		return 1
	}
	return j.Files * j.Clones
}

// Durable reports whether each write is on stable storage when it is done.
func (j *Job) Durable() bool { return j.Sync != NoSync && j.SyncEvery == 1 }

// PerSecond returns the requests a second that all clones together are to make, each of bytes; 0 is as many as it goes.
func (j *Job) PerSecond(bytes int64) float64 {
	switch {
	case j.RateIOPS > 0:
		return float64(j.RateIOPS) * float64(j.Clones)
	case j.Rate > 0:
		return float64(j.Rate) / float64(bytes) * float64(j.Clones)
	}
	return 0
}

// A File is a job file.
type File struct {
	Name string
	Jobs []*Job
	// Ignored are keys that were there and mean nothing here, by name.
	Ignored []string
}

// A Stage is jobs that run at the same time: all up to the next one with stonewall.
type Stage []*Job

// Stages returns the file's jobs in their order.
func (f *File) Stages() []Stage {
	var all []Stage
	for _, j := range f.Jobs {
		if j.Stonewall || len(all) == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], j)
	}
	return all
}

// Shorten makes a file's jobs small, to see whether it works: d at most, and size bytes at most in one clone's files.
func (f *File) Shorten(d time.Duration, size int64) {
	for _, j := range f.Jobs {
		if j.Runtime == 0 || j.Runtime > d {
			j.Runtime = d
		}
		j.StartDelay = min(j.StartDelay, d/4)
		j.Ramp = d / 4
		j.Size = max(min(j.Size, size), j.BlockSize*int64(j.Files))
		j.Own.Recover = min(j.Own.Recover, size)
	}
}

// RunFor gives all jobs the same time, whatever the file says.
func (f *File) RunFor(d time.Duration) {
	for _, j := range f.Jobs {
		j.Runtime, j.TimeBased = d, true
	}
}

// An Error is a line of a job file that cannot be what was meant.
type Error struct {
	File string
	Line int
	Key  string
	Text string
	Want string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Key == "" {
		return at + e.Want
	}
	return at + e.Key + "=" + e.Text + ": " + e.Want
}
