package group_test

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/group"
)

// memory is a log that forgets, and is fast.
type memory struct{}

func (memory) Append(_ int32, _ []group.Record, done func(error)) { done(nil) }

func Example() {
	config := group.DefaultConfig()
	config.InitialRebalanceDelayMs = 0
	c := group.New(group.Options{Config: config, Store: memory{}})
	defer c.Close()
	partition := c.PartitionFor("readers")
	if err := c.Load(partition, func(func(group.LogRecord, error) bool) {}); err != nil {
		panic(err)
	}

	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType, join.SessionTimeoutMillis = 3, "readers", "consumer", 10_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	c.JoinGroup(group.RequestContext{ClientID: "me", ClientHost: "/127.0.0.1"}, join, func(r *kmsg.JoinGroupResponse) {
		fmt.Println("generation", r.Generation, "led by me:", r.LeaderID == r.MemberID)
	})
	// Output: generation 1 led by me: true
}
