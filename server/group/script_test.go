package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestScripts runs testdata/scripts/*: each is a story about groups told in requests. A command prints what was answered since
// the last one, to whatever request, each answer with the name (m=) that the request was given. A bad command fails.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newScript(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t, s.d = t, d
			return s.run()
		})
		s.c.Close()
	})
}

type script struct {
	t      *testing.T
	d      *datadriven.TestData
	cfg    Config
	clock  *fakeClock
	log    *fakeLog
	topics fakeTopics
	c      *Coordinator
	out    []string
}

func newScript(t *testing.T) *script {
	s := &script{
		t: t, clock: &fakeClock{}, log: &fakeLog{}, cfg: DefaultConfig(),
		topics: fakeTopics{"t": {1, 3}, "u": {2, 1}},
	}
	s.cfg.InitialRebalanceDelayMs = 0
	ids := 0
	s.cfg.NewID = func() string { ids++; return fmt.Sprint(ids) }
	s.start()
	return s
}

func (s *script) start() {
	s.c = New(Options{Config: s.cfg, Store: s.log, Clock: s.clock, Topics: s.topics, Partitions: 1})
	if err := s.c.Load(0, s.log.read(0)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) str(key, or string) string {
	if s.d.HasArg(key) {
		s.d.ScanArgs(s.t, key, &or)
		if or == `""` {
			or = ""
		}
	}
	return or
}

func (s *script) num(key string, or int) int {
	if s.d.HasArg(key) {
		s.d.ScanArgs(s.t, key, &or)
	}
	return or
}

func (s *script) opt(key string) *string {
	if !s.d.HasArg(key) {
		return nil
	}
	v := s.str(key, "")
	return &v
}

func (s *script) list(key string) []string {
	if v := s.str(key, ""); v != "" {
		return strings.Split(v, "+")
	}
	return nil
}

func (s *script) say(format string, args ...any) {
	s.out = append(s.out, s.str("m", "answer")+": "+fmt.Sprintf(format, args...))
}

func errName(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kerr.ErrorForCode(code).(*kerr.Error).Message
}

func (s *script) run() string {
	switch s.d.Cmd {
	case "join":
		s.join()
	case "sync":
		s.sync()
	case "beat":
		s.beat()
	case "leave":
		s.leave()
	case "commit":
		s.commit()
	case "fetch":
		s.fetch()
	case "forget":
		s.forget()
	case "delete", "describe", "list":
		s.admin()
	case "advance":
		s.clock.advance(int64(s.num("ms", 0)))
	case "config":
		s.cfg.InitialRebalanceDelayMs = int32(s.num("delay", int(s.cfg.InitialRebalanceDelayMs)))
		s.cfg.MaxSize = s.num("max-size", s.cfg.MaxSize)
		s.cfg.OffsetsRetentionMs = int64(s.num("retention", int(s.cfg.OffsetsRetentionMs)))
		s.c.Close()
		s.start()
	case "hold":
		s.log.hold = true
	case "release":
		s.log.hold = false
		s.log.release()
	case "log":
		s.log.fail = map[string]error{"ok": nil, "full": kerr.NotEnoughReplicas, "offline": fmt.Errorf("disk is gone")}[s.str("is", "ok")]
	case "crash":
		s.c.Close()
		s.log.held, s.log.hold, s.out = nil, false, nil // nobody hears a broker that crashed
		s.start()
	case "topic":
		name := s.str("name", "")
		old := s.topics[name]
		if s.d.HasArg("deleted") {
			delete(s.topics, name)
			s.c.TopicDeleted(name, [16]byte{old.id})
		} else {
			s.topics[name] = fakeTopic{byte(s.num("id", 9)), int32(s.num("partitions", 1))}
		}
	case "lost-topic": // made again, and the coordinator was not told
		s.topics[s.str("name", "")] = fakeTopic{byte(s.num("id", 9)), int32(s.num("partitions", 1))}
	default:
		s.t.Fatalf("unknown command %q", s.d.Cmd)
	}
	if len(s.out) == 0 {
		return ""
	}
	out := strings.Join(s.out, "\n") + "\n"
	s.out = nil
	return out
}

func (s *script) join() {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID = int16(s.num("v", 3)), s.str("group", "g"), s.str("id", "")
	req.ProtocolType, req.InstanceID = s.str("type", "consumer"), s.opt("instance")
	req.SessionTimeoutMillis = int32(s.num("session", 10_000))
	req.RebalanceTimeoutMillis = int32(s.num("rebalance", 30_000))
	for _, p := range s.list("protocols") {
		name, meta, ok := strings.Cut(p, ":")
		if !ok {
			meta = name
		}
		if topics, ok := strings.CutPrefix(meta, "topics="); ok {
			m := kmsg.NewConsumerMemberMetadata()
			m.Topics = strings.Split(topics, "/")
			meta = string(m.AppendTo(nil))
		}
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(meta)})
	}
	if !s.d.HasArg("protocols") {
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("range")}}
	}
	name := s.str("m", "answer")
	s.c.JoinGroup(RequestContext{"c", "/host"}, req, func(r *kmsg.JoinGroupResponse) {
		s.out = append(s.out, name+": "+joinText(r))
	})
}

func joinText(r *kmsg.JoinGroupResponse) string {
	if r.ErrorCode != 0 {
		return fmt.Sprintf("%s id=%q", errName(r.ErrorCode), r.MemberID)
	}
	text := fmt.Sprintf("joined id=%s generation=%d leader=%s protocol=%s", r.MemberID, r.Generation, r.LeaderID, *r.Protocol)
	if r.SkipAssignment {
		text += " skip-assignment"
	}
	for _, m := range r.Members {
		text += fmt.Sprintf(" [%s %q]", m.MemberID, m.ProtocolMetadata)
	}
	return text
}

func (s *script) sync() {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID = int16(s.num("v", 3)), s.str("group", "g"), s.str("id", "")
	req.Generation, req.InstanceID = int32(s.num("gen", 1)), s.opt("instance")
	req.ProtocolType, req.Protocol = s.opt("type"), s.opt("protocol")
	for _, a := range s.list("assign") {
		id, what, _ := strings.Cut(a, ":")
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(what)})
	}
	name := s.str("m", "answer")
	s.c.SyncGroup(req, func(r *kmsg.SyncGroupResponse) {
		text := errName(r.ErrorCode)
		if r.ErrorCode == 0 {
			text = fmt.Sprintf("assigned %q by %s", r.MemberAssignment, *r.Protocol)
		}
		s.out = append(s.out, name+": "+text)
	})
}

func (s *script) beat() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID = 4, s.str("group", "g"), s.str("id", "")
	req.Generation, req.InstanceID = int32(s.num("gen", 1)), s.opt("instance")
	s.c.Heartbeat(req, func(r *kmsg.HeartbeatResponse) { s.say("%s", errName(r.ErrorCode)) })
}

func (s *script) leave() {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = int16(s.num("v", 5)), s.str("group", "g"), s.str("id", "")
	for _, m := range s.list("members") {
		lm := kmsg.NewLeaveGroupRequestMember()
		if id, instance, ok := strings.Cut(m, "@"); ok {
			lm.MemberID, lm.InstanceID = id, &instance
		} else {
			lm.MemberID = m
		}
		req.Members = append(req.Members, lm)
	}
	s.c.LeaveGroup(req, func(r *kmsg.LeaveGroupResponse) {
		text := errName(r.ErrorCode)
		for _, m := range r.Members {
			text += " " + errName(m.ErrorCode)
		}
		s.say("%s", text)
	})
}

func (s *script) admin() {
	switch s.d.Cmd {
	case "delete":
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = strings.Split(s.str("group", "g"), "+")
		s.c.DeleteGroups(req, func(r *kmsg.DeleteGroupsResponse) {
			for _, g := range r.Groups {
				s.say("%s %s", g.Group, errName(g.ErrorCode))
			}
		})
	case "describe":
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = int16(s.num("v", 6)), strings.Split(s.str("group", "g"), "+")
		s.c.DescribeGroups(req, func(r *kmsg.DescribeGroupsResponse) {
			for _, g := range r.Groups {
				text := fmt.Sprintf("%s %s %s type=%q protocol=%q", g.Group, errName(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
				for _, m := range g.Members {
					text += fmt.Sprintf(" [%s %q %q]", m.MemberID, m.ProtocolMetadata, m.MemberAssignment)
				}
				s.say("%s", text)
			}
		})
	case "list":
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = s.list("states"), s.list("types")
		s.c.ListGroups(req, func(r *kmsg.ListGroupsResponse) {
			var lines []string
			for _, g := range r.Groups {
				lines = append(lines, fmt.Sprintf("%s:%s:%s", g.Group, g.GroupState, g.GroupType))
			}
			slices.Sort(lines)
			s.say("%s %s", errName(r.ErrorCode), strings.Join(lines, " "))
		})
	}
}
