package group

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// gather returns a function that runs done when it was called n times; with n = 0 done runs now.
func gather(n int, done func()) func() {
	if n == 0 {
		done()
		return nil
	}
	var called atomic.Int64
	return func() {
		if called.Add(1) == int64(n) {
			done()
		}
	}
}

// DescribeGroups describes groups, one answer for each that was asked for. One that is not there is Dead, from v6 on
// with GROUP_ID_NOT_FOUND. Authorized operations are the caller's to fill in.
func (c *Coordinator) DescribeGroups(req *kmsg.DescribeGroupsRequest, reply func(*kmsg.DescribeGroupsResponse)) {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Version = req.Version
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(req.Groups))
	for i, id := range req.Groups {
		d := &resp.Groups[i]
		*d = kmsg.NewDescribeGroupsResponseGroup()
		d.Group = id
		s := c.shards[c.PartitionFor(id)]
		s.run(func(Instant) {
			if d.ErrorCode = s.code(); d.ErrorCode != 0 {
				return
			}
			if sl := s.groups[id]; sl != nil && sl.group.state != Dead {
				sl.group.Describe(d)
				return
			}
			d.State = Dead.String()
			if req.Version >= 6 {
				text := fmt.Sprintf("Group %s not found.", id)
				d.ErrorCode, d.ErrorMessage = kerr.GroupIDNotFound.Code, &text
			}
		})
	}
	reply(resp)
}

// ListGroups lists the groups of the partitions that were loaded, filtered by state and type whatever their case. While
// a partition is being loaded the answer is COORDINATOR_LOAD_IN_PROGRESS: a part would look like all.
func (c *Coordinator) ListGroups(req *kmsg.ListGroupsRequest, reply func(*kmsg.ListGroupsResponse)) {
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = req.Version
	for _, s := range c.shards {
		s.run(func(Instant) {
			if code := s.code(); code != 0 {
				if code != kerr.NotCoordinator.Code {
					resp.ErrorCode = code
				}
				return
			}
			for _, sl := range s.groups {
				l := sl.group.List()
				if sl.group.state != Dead && chosen(req.StatesFilter, l.GroupState) && chosen(req.TypesFilter, l.GroupType) {
					resp.Groups = append(resp.Groups, l)
				}
			}
		})
	}
	if resp.ErrorCode != 0 {
		resp.Groups = nil
	}
	reply(resp)
}

// chosen reports whether a filter, of which an empty one lets all pass, has a word.
func chosen(filter []string, word string) bool {
	for _, f := range filter {
		if strings.EqualFold(f, word) {
			return true
		}
	}
	return len(filter) == 0
}

// DeleteGroups deletes groups without members, with their offsets. A group that is named twice has one answer.
func (c *Coordinator) DeleteGroups(req *kmsg.DeleteGroupsRequest, reply func(*kmsg.DeleteGroupsResponse)) {
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = req.Version
	seen := make(map[string]bool, len(req.Groups))
	for _, id := range req.Groups {
		if !seen[id] {
			seen[id] = true
			g := kmsg.NewDeleteGroupsResponseGroup()
			g.Group = id
			resp.Groups = append(resp.Groups, g)
		}
	}
	ready := gather(len(resp.Groups), func() { reply(resp) })
	for i := range resp.Groups {
		g := &resp.Groups[i]
		done := func(code int16) {
			g.ErrorCode = code
			ready()
		}
		s := c.shards[c.PartitionFor(g.Group)]
		s.run(func(now Instant) {
			code := s.code()
			sl := s.groups[g.Group]
			if code == 0 && sl == nil {
				code = kerr.GroupIDNotFound.Code
			}
			if code != 0 {
				s.out = append(s.out, func() { done(code) })
				return
			}
			s.collect(sl, sl.group.Delete(now, done))
		})
	}
}
