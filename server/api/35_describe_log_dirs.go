package api

// DescribeLogDirs (key 35), versions 1 to 5.
//
// Behaviours that matter:
//   - log directories are named by their absolute paths, in the order of the configuration
//   - a null list of topics is all partitions, an empty one none; partitions that are not here are left out
//   - sizes are bytes of log files, of all segments; there is no lag, since no replica is moved between directories
//   - from version 4 on with the bytes of the file system and those that are free; from version 5 on a directory may be
//     cordoned, which this one never is
//   - a directory that is offline is KAFKA_STORAGE_ERROR, without partitions and bytes
//
// It asks the file system, which may wait.

import (
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) describeLogDirs(r *wire.Request) error {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	for _, d := range b.Dirs.All() {
		resp.Dirs = append(resp.Dirs, b.logDir(req, d))
	}
	r.Reply(resp)
	return nil
}

func (b *Broker) logDir(req *kmsg.DescribeLogDirsRequest, at *logdir.Dir) kmsg.DescribeLogDirsResponseDir {
	d := kmsg.NewDescribeLogDirsResponseDir()
	d.Dir = at.Path()
	if path, err := filepath.Abs(d.Dir); err == nil {
		d.Dir = path
	}
	total, usable, err := space(d.Dir)
	if err != nil || at.Err() != nil {
		d.ErrorCode = kerr.KafkaStorageError.Code
		return d
	}
	d.TotalBytes, d.UsableBytes = total, usable
	if req.Topics == nil {
		d.Topics = b.allSizes(at)
		return d
	}
	for i := range req.Topics {
		if t := b.Partitions.ByName(req.Topics[i].Topic); t != nil {
			d.Topics = appendSizes(d.Topics, at, t, req.Topics[i].Partitions)
		}
	}
	return d
}

// allSizes lists all partitions in a directory, by the names of their topics.
func (b *Broker) allSizes(at *logdir.Dir) (all []kmsg.DescribeLogDirsResponseDirTopic) {
	for mt := range b.Metadata.Image().Topics("") {
		t := b.Partitions.ByID(mt.ID())
		if t == nil {
			continue
		}
		indexes := make([]int32, 0, len(t.Partitions()))
		for _, p := range t.Partitions() {
			indexes = append(indexes, p.ID)
		}
		all = appendSizes(all, at, t, indexes)
	}
	return all
}

// appendSizes appends those partitions of a topic that are in a directory, each once.
func appendSizes(all []kmsg.DescribeLogDirsResponseDirTopic, at *logdir.Dir, t *partition.Topic, indexes []int32) []kmsg.DescribeLogDirsResponseDirTopic {
	rt := kmsg.NewDescribeLogDirsResponseDirTopic()
	rt.Topic = t.Name
	indexes = slices.Clone(indexes)
	slices.Sort(indexes)
	for _, i := range slices.Compact(indexes) {
		p := t.Partition(i)
		if p == nil || p.Log == nil || p.Dir != at {
			continue
		}
		rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		rp.Partition, rp.Size = i, p.Log.Size()
		rt.Partitions = append(rt.Partitions, rp)
	}
	if len(rt.Partitions) == 0 || slices.ContainsFunc(all, func(o kmsg.DescribeLogDirsResponseDirTopic) bool { return o.Topic == t.Name }) {
		return all
	}
	return append(all, rt)
}

// space returns the bytes of the file system that holds dir, and those that a process without privileges may still
// write (statfs(2)).
func space(dir string) (total, usable int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1, -1, err
	}
	unit := s.Frsize
	if unit == 0 {
		unit = s.Bsize
	}
	return int64(s.Blocks) * unit, int64(s.Bavail) * unit, nil
}
