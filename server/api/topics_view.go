package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/server/logdir"
)

// A view is all that decisions about topics and configs are made on: one image, and the broker's configuration as that
// image has it. What is decided on it depends on nothing else, but for the ids of new topics, and the directories of this broker.
type view struct {
	img    *metadata.Image
	layers config.Layers
	node   int32 // the broker that decides
	// offline says why no log directory takes new partitions, nil where one does.
	offline error
	// dirs chooses the directories of this broker's new partitions; nil where it has none.
	dirs *logdir.Placer
}

// view returns what decisions on an image are made on.
func (b *Broker) view(img *metadata.Image) view {
	all := img.Configs(metadata.ResourceBroker, "")
	_, elr := all[minISR]
	return view{img: img, node: b.NodeID, offline: b.Dirs.Err(), dirs: b.Dirs.Placer(), layers: config.Layers{
		Dynamic:        img.Configs(metadata.ResourceBroker, strconv.Itoa(int(b.NodeID))),
		DynamicDefault: all,
		Static:         b.Static,
		ELR:            elr,
	}}
}

const minISR = "min.insync.replicas"

// ClusterDefaults returns what the cluster's configuration must have and does not: records for the start of a broker.
// With eligible leader replicas (KIP-966) min.insync.replicas is the cluster's: it is taken from the broker's own
// configuration at the first start, and changed by clients from then on.
func ClusterDefaults(img *metadata.Image, static *config.Static) []metadata.Record {
	if _, ok := img.Configs(metadata.ResourceBroker, "")[minISR]; ok {
		return nil
	}
	n := config.Layers{Static: static}.Int(minISR)
	return []metadata.Record{metadata.ConfigRecord{
		Resource: metadata.Resource{Type: metadata.ResourceBroker}, Key: minISR, Value: strconv.Itoa(int(n)),
	}}
}

// A refusal is the error of one part of a request, with words for people. nil is none.
type refusal struct {
	code    int16
	message string
}

func refuse(code *kerr.Error, format string, args ...any) *refusal {
	return &refusal{code.Code, fmt.Sprintf(format, args...)}
}

// answer returns what goes into an answer's fields. The message is nil where there is none.
func (r *refusal) answer() (int16, *string) {
	switch {
	case r == nil:
		return 0, nil
	case r.message == "":
		return r.code, nil
	}
	return r.code, &r.message
}

// A batch is the records of one request, which are applied all or none.
type batch struct {
	records []metadata.Record
}

// maxRecords is how many records one request may cause, as in Kafka: an update is one entry of the metadata log, and
// everybody waits while it is applied.
const maxRecords = 10_000

func (c *batch) add(records ...metadata.Record) { c.records = append(c.records, records...) }

// check refuses a request that causes too much.
func (c *batch) check() *refusal {
	if len(c.records) > maxRecords {
		return refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation.")
	}
	return nil
}

// update changes the metadata, within the time that the client gives. Where it returns a refusal, that is the answer
// for every part of the request, whatever decide has found; decide may not even have been called.
func (b *Broker) update(timeoutMs int32, validateOnly bool, decide func(view, *batch)) *refusal {
	if timeoutMs <= 0 { // Kafka's controller finds such a request too late before it looks at it
		return &refusal{code: kerr.RequestTimedOut.Code}
	}
	ctx, cancel := context.WithTimeout(b.Stop, time.Duration(timeoutMs)*time.Millisecond)
	defer cancel()
	var tooMuch *refusal
	err := b.Metadata.Update(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
		var c batch
		decide(b.view(img), &c)
		tooMuch = c.check()
		if validateOnly || tooMuch != nil {
			return nil, nil
		}
		return c.records, nil
	})
	if err != nil {
		return b.updateFailed(err)
	}
	return tooMuch
}

// updateFailed says in Kafka's codes why the metadata takes no change.
func (b *Broker) updateFailed(err error) *refusal {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{code: kerr.RequestTimedOut.Code} // it may still happen
	case errors.Is(err, metadata.ErrNotLeader), errors.Is(err, metadata.ErrClosed), b.Stop.Err() != nil:
		return refuse(kerr.NotController, "%v", err)
	case errors.Is(err, metadata.ErrNoSpace):
		return refuse(kerr.KafkaStorageError, "%v", err)
	}
	if b.Log != nil {
		b.Log.Error("the metadata takes no change", "error", err)
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return refuse(kerr.KafkaStorageError, "%v", err)
	}
	return refuse(kerr.UnknownServerError, "%v", err)
}
