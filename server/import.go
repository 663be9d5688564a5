package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/checkpoint"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/replication/metadata/kraft"
	"github.com/zurau/zurau/server/api"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
	"github.com/zurau/zurau/server/partition"
)

// startedName is a file at the root of each log directory: the broker's metadata was durable once. Where it is there and the metadata
// is not, that was lost, and nothing takes its place unasked.
const startedName = "zurau-directory"

// idsApart is how far the producer ids that this broker gives away are from those of the Kafka whose directory it took.
// Both go on counting from there: a producer of the one never has the id of a producer of the other, whose state is in
// the logs, in whichever of the two the directory is used next.
const idsApart = 1 << 40

// firstRecords decides what the metadata of the directory begins with: nothing where it is new, else what Kafka's own
// metadata says or, without that, what the partition folders do. It is asked for at the first start alone.
func (s *Server) firstRecords(static *config.Static) ([]metadata.Record, error) {
	b := kraft.Broker{NodeID: s.cfg.NodeID, Directories: s.dirs.IDs(), Internal: api.InternalTopic, Accept: acceptor(static)}
	if err := s.allUsable(); err != nil {
		return nil, err
	}
	for _, d := range s.dirs.All() {
		if startedBefore(d.Path()) {
			return nil, nil // writeMetas says what is wrong
		}
		m, err := checkpoint.ReadMeta(fs.OS(), d.Path())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if m.ClusterID != "" {
			b.ClusterID = m.ClusterID
		}
		for _, l := range d.Logs() {
			n := l.Name()
			b.Logs = append(b.Logs, kraft.Log{Topic: n.Topic, Partition: n.Partition, ID: l.TopicID(), Epoch: l.LatestEpoch(), Directory: d.ID()})
		}
	}
	folder := filepath.Join(s.kafkaDir(), kraft.Folder)
	state, err := kraft.Read(fs.OS(), folder)
	if err == nil {
		s.warnOfDefaults(static, state)
		return s.imported(state, b, folder), nil
	}
	if len(b.Logs) == 0 && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return s.adopted(b, err)
}

// allUsable refuses the first start where a directory is offline.
func (s *Server) allUsable() error {
	for _, d := range s.dirs.All() {
		if err := d.Err(); err != nil {
			return fmt.Errorf("log directory %s: %w; it may have the metadata or partitions, and the first start looks for them "+
				"once: expected log.dirs that can all be used", d.Path(), err)
		}
	}
	return nil
}

// kafkaDir is where Kafka has its metadata: where metadata.log.dir says, else in the first directory or, where they were put into another
// order since, in the one that has it.
func (s *Server) kafkaDir() string {
	if s.cfg.MetadataDir != "" {
		return s.cfg.MetadataDir
	}
	if i := slices.IndexFunc(s.cfg.LogDirs, holdsKafkas); i >= 0 {
		return s.cfg.LogDirs[i]
	}
	return s.metaDir
}

// warnOfDefaults says that topics get this broker's default retention where nobody has said what it was: Kafka's defaults are in
// its server.properties, not in its directory, and records that it kept may be deleted.
func (s *Server) warnOfDefaults(static *config.Static, state *kraft.State) {
	cluster := state.Configs[metadata.Resource{Type: metadata.ResourceBroker}]
	for _, key := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if _, _, set := static.Set(key); set || cluster[key] != "" {
			return
		}
	}
	n := 0
	for _, t := range state.Topics {
		c := state.Configs[metadata.Resource{Type: metadata.ResourceTopic, Name: t.Name}]
		if policy := c["cleanup.policy"]; c["retention.ms"] == "" && (policy == "" || strings.Contains(policy, "delete")) {
			n++
		}
	}
	if n > 0 {
		s.log.Warn("topics without a retention of their own have the default, since log.retention.hours is not set: where the server.properties "+
			"of Apache Kafka had another, stop now and start with that", "topics", n,
			"retention", time.Duration((config.Layers{Static: static}).Long("log.retention.ms"))*time.Millisecond)
	}
}

// imported tells what comes from Kafka's metadata, and returns it.
func (s *Server) imported(state *kraft.State, b kraft.Broker, folder string) []metadata.Record {
	if state.Cut != nil {
		s.log.Warn("Kafka's metadata ends with a write that was cut off, and is taken up to there", "error", state.Cut)
	}
	plan := state.Import(b)
	s.log.Info("imported the metadata of Apache Kafka, once: it counts here from now on, and Kafka's is left as it is", "folder", folder,
		"offset", state.Offset, "cluster", b.ClusterID, "topics", plan.Topics, "partitions", plan.Partitions, "configs", plan.Configs,
		"producerIDs", plan.NextProducerID, "levels", plan.Features)
	s.tell(plan)
	return append(plan.Records, metadata.ProducerIDsRecord{Next: plan.NextProducerID + idsApart})
}

// adopted tells what comes from the partition folders, and returns it.
func (s *Server) adopted(b kraft.Broker, why error) ([]metadata.Record, error) {
	plan, err := kraft.Adopt(b, random{})
	if err != nil {
		return nil, err
	}
	s.log.Warn("there is no metadata of Apache Kafka that can be read: topics are adopted from their folders, and all of their records "+
		"are kept until you set retention.ms, retention.bytes and cleanup.policy", "error", why, "cluster", b.ClusterID,
		"topics", plan.Topics, "partitions", plan.Partitions)
	s.tell(plan)
	// Which ids were given away is not known: one that is drawn is most unlikely to be among them.
	return append(plan.Records, metadata.ProducerIDsRecord{Next: idsApart + rand.Int64N(1<<62)}), nil
}

// tell names what an import leaves out or changes. Each has a line of its own: they may be many.
func (s *Server) tell(plan kraft.Plan) {
	for _, name := range plan.Absent {
		s.log.Warn("a partition has no folder here and is served by nobody", "partition", name)
	}
	for _, name := range plan.Lagging {
		s.log.Warn("the copy of a partition was not in sync and is served as it is: records that its leader had may be missing", "partition", name)
	}
	for _, why := range plan.Refused {
		s.log.Warn("a config was not imported", "config", why)
	}
	if len(plan.Left) > 0 {
		s.log.Warn("not imported", "what", plan.Left)
	}
}

// acceptor refuses the configs that a client could not set here, either.
func acceptor(static *config.Static) func(metadata.Resource, string, string) error {
	layers := config.Layers{Static: static}
	return func(r metadata.Resource, key, value string) error {
		_, err := layers.Alter(config.Kind(r.Type), r.Name, nil, []config.Change{{Name: key, Op: config.Set, Value: &value}})
		return err
	}
}

func startedBefore(dir string) bool {
	_, err := fs.OS().Stat(filepath.Join(dir, startedName))
	return err == nil
}

// noteStarted leaves the mark that a directory has metadata, here or beside it.
func noteStarted(dir, cluster string) error {
	if startedBefore(dir) {
		return nil
	}
	return checkpoint.Replace(fs.OS(), filepath.Join(dir, startedName), []byte("cluster "+cluster+"\n"))
}

// catchUp brings the metadata up to what the directories have: leader epochs, where Kafka had the directory in between and the
// log has a newer one, since epochs must not fall along a log; and the directory of a log that somebody has moved from one to another, or that
// comes with a directory which was not among log.dirs when its topic was imported.
func (s *Server) catchUp(ctx context.Context) error {
	return s.meta.Update(ctx, func(img *metadata.Image) (records []metadata.Record, err error) {
		for _, d := range s.dirs.All() {
			for _, l := range d.Logs() {
				t, ok := img.Topic(l.Name().Topic)
				if !ok || t.ID() != l.TopicID() {
					continue
				}
				if p, ok := t.Partition(l.Name().Partition); ok && s.found(&p, d, l) {
					p.PartitionEpoch++
					records = append(records, metadata.PartitionRecord{Topic: t.ID(), Partition: p})
				}
			}
		}
		return records, nil
	})
}

// found changes a partition by what its log says, and reports whether that is something new.
func (s *Server) found(p *metadata.Partition, d *logdir.Dir, l *engine.Log) (news bool) {
	i := slices.Index(p.Replicas, s.cfg.NodeID)
	if i < 0 || p.Leader >= 0 && p.Leader != s.cfg.NodeID {
		return false
	}
	newest := l.LatestEpoch()
	switch {
	case p.Leader < 0:
		s.log.Info("the log of a partition that nobody served is here", "log", l.Name(), "dir", d.Path())
		p.Leader, p.ISR, p.LeaderEpoch, news = s.cfg.NodeID, []int32{s.cfg.NodeID}, max(newest, p.LeaderEpoch)+1, true
	case newest >= p.LeaderEpoch:
		s.log.Info("a log has records of a later leader: Apache Kafka had the directory in between", "log", l.Name(),
			"epoch", newest, "ours", p.LeaderEpoch)
		p.LeaderEpoch, news = newest+1, true
	}
	if partition.Directory(*p, s.cfg.NodeID) != d.ID() {
		directories := make([]metadata.ID, len(p.Replicas))
		copy(directories, p.Directories)
		directories[i] = d.ID()
		p.Directories, news = directories, true
	}
	return news
}

// nodeOf takes the node id of a directory, which is in the file of that name, where none was set.
func (s *Server) nodeOf(static *config.Static, id int32, name string) *config.Static {
	if _, _, set := static.Set("node.id"); set || id == s.cfg.NodeID {
		return static
	}
	static = static.With("node.id", strconv.Itoa(int(id)), config.Source{Kind: config.FromFile, Name: name})
	s.cfg = config.Layers{Static: static}.Broker()
	s.log.Info("node.id is not set: it is the directory's", slog.Int("node.id", int(id)), slog.String("file", name))
	return static
}
