package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Doc is what is known of a key.
type Doc struct {
	Name string
	Says string // what the engine and the broker make of it
	set  func(j *Job, value string) error
}

// Keys are the keys of fio that mean something here.
func Keys() []Doc {
	return []Doc{
		{"rw", "write: appends; read: reads from the start on, or behind a writer of the same filename; rw: both", (*Job).setPattern},
		{"readwrite", "the same as rw", (*Job).setPattern},
		{"rwmixread", "percentage of reads of rw=rw", percent(func(j *Job, n int64) { j.ReadPercent = int(n) })},
		{"rwmixwrite", "the rest of rwmixread", percent(func(j *Job, n int64) { j.ReadPercent = 100 - int(n) })},
		{"bs", "bytes of a record batch that is appended, or of a read", size(func(j *Job, n int64) { j.BlockSize = n })},
		{"blocksize", "the same as bs", size(func(j *Job, n int64) { j.BlockSize = n })},
		{"size", "bytes to append where there is no time_based; bytes that are there to be read", size(func(j *Job, n int64) { j.Size = n })},
		{"nrfiles", "logs, or partitions, of each clone", count(func(j *Job, n int64) { j.Files = int(n) })},
		{"filename", "jobs that name the same file share one log", (*Job).setFilename},
		{"numjobs", "clones, each with logs and requests of its own", count(func(j *Job, n int64) { j.Clones = int(n) })},
		{"iodepth", "requests in flight of each clone", count(func(j *Job, n int64) { j.Depth = int(n) })},
		{"ioengine", "io_uring and libaio: the ring; psync, pvsync, pvsync2, sync: plain calls (direct logs without a ring)", (*Job).setEngine},
		{"direct", "1: the direct writer; 0: the buffered one", flag(func(j *Job, b bool) { j.Direct = b })},
		{"buffered", "the contrary of direct", flag(func(j *Job, b bool) { j.Direct = !b })},
		{"sync", "dsync or sync: acknowledged when flushed (flush.messages=1); none", (*Job).setSync},
		{"fdatasync", "1: as sync; N: flush.messages of N batches", every(Fdatasync)},
		{"fsync", "the same as fdatasync", every(Fsync)},
		{"rate", "bytes a second of each clone, without coordinated omission", size(func(j *Job, n int64) { j.Rate = n })},
		{"rate_iops", "requests a second of each clone", count(func(j *Job, n int64) { j.RateIOPS = n })},
		{"rate_process", "linear or poisson", (*Job).setProcess},
		{"runtime", "how long it is measured", span(func(j *Job, d time.Duration) { j.Runtime = d })},
		{"time_based", "goes on past size until runtime is over", flag(func(j *Job, b bool) { j.TimeBased = b })},
		{"ramp_time", "warm-up that is not measured; without it the suite warms up until the rate is steady", span(func(j *Job, d time.Duration) { j.Ramp = d })},
		{"startdelay", "starts so much later than the others of its stage", span(func(j *Job, d time.Duration) { j.StartDelay = d })},
		{"stonewall", "starts when all before it have ended", flag(func(j *Job, b bool) { j.Stonewall = b })},
		{"wait_for_previous", "the same as stonewall", flag(func(j *Job, b bool) { j.Stonewall = b })},
		{"overwrite", "device: the files are written once before; a log lays its zeros by itself", flag(func(j *Job, b bool) { j.Overwrite = b })},
		{"pre_read", "what is read is in the page cache", flag(func(j *Job, b bool) { j.PreRead = b })},
		{"invalidate", "what is read is not in the page cache; fio's default", flag(func(j *Job, b bool) { j.Invalidate = b })},
	}
}

// Ignored are keys of fio that say how it reports, or how it does what a log does in one way, with the reason.
func Ignored() []Doc {
	return []Doc{
		{"name", "a section has a name", nil}, {"description", "a comment", nil}, {"directory", "--directory says where", nil},
		{"thread", "goroutines", nil}, {"group_reporting", "clones are always one row", nil}, {"new_group", "every section is a row", nil},
		{"openfiles", "the engine keeps its own files open", nil}, {"file_service_type", "requests go round the logs", nil},
		{"fallocate", "the engine decides how a log grows", nil}, {"unlink", "everything is removed", nil},
		{"refill_buffers", "values are the same bytes in every record", nil}, {"end_fsync", "closing a log flushes it", nil},
		{"fadvise_hint", "the engine gives its own advice", nil}, {"percentile_list", "always to p99.99", nil},
	}
}

// OwnKeys are the keys of "#zurau:" comments.
func OwnKeys() []Doc {
	return []Doc{
		{"bs", "bytes of a record batch, where the device's blocks are not what a client sends", size(func(j *Job, n int64) { j.Own.Batch = n })},
		{"record", "bytes of a record's value (1000)", size(func(j *Job, n int64) { j.Own.Record = n })},
		{"codec", "none, gzip, snappy, lz4 or zstd: how a batch of bs bytes is compressed before it is sent", (*Job).setCodec},
		{"streams", "requests in flight of each clone, instead of iodepth", count(func(j *Job, n int64) { j.Own.Streams = int(n) })},
		{"connections", "connections of each clone that its requests in flight share (one each, 32 at most); broker", count(func(j *Job, n int64) { j.Own.Connections = int(n) })},
		{"flush_ms", "flush.ms", count(func(j *Job, n int64) { j.Own.FlushMs = n })},
		{"retention", "retention.bytes of each log, enforced every second", size(func(j *Job, n int64) { j.Own.Retention = n })},
		{"segment", "segment.bytes", size(func(j *Job, n int64) { j.Own.Segment = n })},
		{"recover", "bytes of a log that is recovered beside the job, again and again; engine", size(func(j *Job, n int64) { j.Own.Recover = n })},
	}
}

func (j *Job) setPattern(v string) error {
	switch v {
	case "write", "read":
		j.Pattern = Pattern(v)
	case "rw", "readwrite":
		j.Pattern = Mixed
	default:
		return wanted("want write, read or rw: logs are written and read in sequence")
	}
	return nil
}

func (j *Job) setCodec(v string) error {
	switch v {
	case "none", "gzip", "snappy", "lz4", "zstd":
		j.Own.Codec = v
		return nil
	}
	return wanted("want none, gzip, snappy, lz4 or zstd")
}

func (j *Job) setFilename(v string) error {
	if v == "" || strings.ContainsAny(v, ":/$") {
		return wanted("want one name without a folder")
	}
	j.Filename = v
	return nil
}

func (j *Job) setEngine(v string) error {
	switch v {
	case "io_uring", "libaio", "psync", "sync", "pvsync", "pvsync2":
		j.Engine = v
		return nil
	}
	return wanted("want io_uring, libaio, psync, sync, pvsync or pvsync2")
}

func (j *Job) setSync(v string) error {
	switch v {
	case "none", "0":
		if j.Sync == Dsync || j.Sync == FullSync {
			j.Sync, j.SyncEvery = NoSync, 0
		}
	case "sync", "1":
		j.Sync, j.SyncEvery = FullSync, 1
	case "dsync":
		j.Sync, j.SyncEvery = Dsync, 1
	default:
		return wanted("want none, sync or dsync")
	}
	return nil
}

func every(s Sync) func(*Job, string) error {
	return func(j *Job, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return wanted("want a number of writes")
		}
		if n > 0 {
			j.Sync, j.SyncEvery = s, int(n)
		}
		return nil
	}
}

func (j *Job) setProcess(v string) error {
	switch v {
	case "linear":
		j.Poisson = false
	case "poisson":
		j.Poisson = true
	default:
		return wanted("want linear or poisson")
	}
	return nil
}

// wanted is the part of an Error that a key's reader knows.
type wanted string

func (w wanted) Error() string { return string(w) }

// Limits of what a file may ask for: what a machine could still be meant to do.
const (
	maxCount = 1 << 20
	maxSize  = 1 << 50
	maxTime  = 7 * 24 * time.Hour
)

func size(set func(*Job, int64)) func(*Job, string) error {
	return func(j *Job, v string) error {
		n, ok := bytesOf(v)
		if !ok {
			return wanted("want a size such as 4k, 64k, 1m or 2g, more than 0")
		}
		set(j, n)
		return nil
	}
}

// bytesOf reads a size: a whole number with one of fio's suffixes, of which k is 1024, as in its kb_base.
func bytesOf(v string) (int64, bool) {
	s := strings.ToLower(v)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "b"), "i")
	shift := 0
	if i := strings.IndexAny(s, "kmgt"); i >= 0 && i == len(s)-1 {
		shift = 10 * (1 + strings.IndexByte("kmgt", s[i]))
		s = s[:i]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > maxSize>>shift {
		return 0, false
	}
	return n << shift, true
}

func count(set func(*Job, int64)) func(*Job, string) error {
	return func(j *Job, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > maxCount {
			return wanted(fmt.Sprintf("want a number from 1 to %d", maxCount))
		}
		set(j, n)
		return nil
	}
}

func percent(set func(*Job, int64)) func(*Job, string) error {
	return func(j *Job, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 || n > 100 {
			return wanted("want a percentage from 0 to 100")
		}
		set(j, n)
		return nil
	}
}

// flag reads a key that may stand alone.
func flag(set func(*Job, bool)) func(*Job, string) error {
	return func(j *Job, v string) error {
		switch v {
		case "", "1":
			set(j, true)
		case "0":
			set(j, false)
		default:
			return wanted("want 0 or 1")
		}
		return nil
	}
}

func span(set func(*Job, time.Duration)) func(*Job, string) error {
	return func(j *Job, v string) error {
		d, ok := durationOf(v)
		if !ok {
			return wanted("want a time such as 3, 500ms or 2m")
		}
		set(j, d)
		return nil
	}
}

// durationOf reads a time: a whole number of seconds, or with one of fio's suffixes.
func durationOf(v string) (time.Duration, bool) {
	s, unit := strings.ToLower(v), time.Second
	for _, u := range []struct {
		suffix string
		unit   time.Duration
	}{
		{"usec", time.Microsecond}, {"us", time.Microsecond}, {"msec", time.Millisecond}, {"ms", time.Millisecond},
		{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
	} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, unit = rest, u.unit
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > int64(maxTime/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
