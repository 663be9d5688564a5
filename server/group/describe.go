package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Describe fills a DescribeGroups answer. Protocol and metadata are those of a stable group; before they are not
// settled.
func (g *Group) Describe(d *kmsg.DescribeGroupsResponseGroup) {
	d.State, d.ProtocolType = g.state.String(), g.protocolType
	var protocol *string
	if g.state == Stable && g.protocol != nil {
		protocol, d.Protocol = g.protocol, *g.protocol
	}
	for _, m := range g.ordered() {
		dm := kmsg.NewDescribeGroupsResponseGroupMember()
		dm.MemberID, dm.InstanceID, dm.ClientID, dm.ClientHost = m.id, m.instance, m.client.ClientID, m.client.ClientHost
		dm.ProtocolMetadata, dm.MemberAssignment = m.metadata(protocol), m.assignment
		d.Members = append(d.Members, dm)
	}
}

// List returns the group's line of ListGroups.
func (g *Group) List() kmsg.ListGroupsResponseGroup {
	l := kmsg.NewListGroupsResponseGroup()
	l.Group, l.ProtocolType, l.GroupState, l.GroupType = g.id, g.protocolType, g.state.String(), "classic"
	return l
}
