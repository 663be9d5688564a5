package api

// IncrementalAlterConfigs (key 44), versions 0 and 1.
//
// Behaviours that matter:
//   - set, delete (back to the default), append to a list, subtract from a list; what is not named stays
//   - changes are in force when they are answered, and after a restart
//   - resources are independent: each has its own error, and one bad value changes nothing of its resource; one that
//     comes twice is refused each time
//   - topics must exist; groups and client metrics subscriptions need not; of brokers, this one and the default of all
//   - validate_only changes nothing

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) incrementalAlterConfigs(r *wire.Request) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerIncrementalAlterConfigs(req))
	return nil
}

func (b *Broker) answerIncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	list := make([]alteration, len(req.Resources))
	for i, resource := range req.Resources {
		list[i] = alteration{kind: int8(resource.ResourceType), name: resource.ResourceName}
		for _, c := range resource.Configs {
			list[i].changes = append(list[i].changes, config.Change{Name: c.Name, Op: config.Op(c.Op), Value: c.Value})
		}
	}
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for i, r := range b.alter(list, req.ValidateOnly) {
		answer := kmsg.NewIncrementalAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		answer.ErrorCode, answer.ErrorMessage = r.answer()
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}
