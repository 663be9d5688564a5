package api

// AlterConfigs (key 33), versions 0 to 2: the older way to change configs, which replaces all of a resource.
//
// Behaviours that matter:
//   - what is not named goes back to its default
//   - the rest is IncrementalAlterConfigs: changes are in force when they are answered, resources are independent,
//     one bad value refuses its whole resource, validate_only changes nothing
//   - Kafka leaves a request with the same resource twice without an answer; here it is INVALID_REQUEST as there

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) alterConfigs(r *wire.Request) error {
	req := kmsg.NewPtrAlterConfigsRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	r.Reply(b.answerAlterConfigs(req))
	return nil
}

func (b *Broker) answerAlterConfigs(req *kmsg.AlterConfigsRequest) *kmsg.AlterConfigsResponse {
	list := make([]alteration, len(req.Resources))
	for i, resource := range req.Resources {
		list[i] = alteration{kind: int8(resource.ResourceType), name: resource.ResourceName, replace: true}
		for _, c := range resource.Configs {
			list[i].changes = append(list[i].changes, config.Change{Name: c.Name, Op: config.Set, Value: c.Value})
		}
	}
	resp := kmsg.NewPtrAlterConfigsResponse()
	for i, r := range b.alter(list, req.ValidateOnly) {
		answer := kmsg.NewAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		answer.ErrorCode, answer.ErrorMessage = r.answer()
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

// alter changes configs, and returns what is refused of each resource.
func (b *Broker) alter(list []alteration, validateOnly bool) []*refusal {
	var answers []*refusal
	all := b.update(b.Layers().Int("request.timeout.ms"), validateOnly, func(v view, c *batch) {
		answers = v.alterAll(list, c)
	})
	if all != nil {
		answers = make([]*refusal, len(list))
		for i := range answers {
			answers[i] = all
		}
	}
	return answers
}
