package offsets

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/record"
	"github.com/zurau/zurau/server/group"
)

// Append implements group.Log: the records become one batch of their partition's log. done runs on a writer's
// goroutine of the engine, or at once where the append is refused.
func (s *Store) Append(partition int32, records []group.Record, done func(error)) {
	t := s.table.ByName(Topic)
	if t == nil {
		done(kerr.UnknownTopicOrPartition)
		return
	}
	p := t.Partition(partition)
	if p == nil || p.Log == nil {
		done(kerr.KafkaStorageError)
		return
	}
	rules := p.Log.Config().Rules
	rules.Origin, rules.Now = record.Coordinator, time.Now().UnixMilli()
	b := record.NewBuilder(s.codec)
	for _, r := range records {
		b.Add(rules.Now, r.Key, r.Value)
	}
	prep := s.prepared.Get().(*record.Prepared)
	defer s.prepared.Put(prep) // the engine copies
	prep.Reset()
	if err := prep.Prepare(b.Bytes(), rules); err != nil {
		done(refusal(err))
		return
	}
	p.Log.Append(prep, p.LeaderEpoch(), func(a engine.Appended) { done(refusal(a.Err)) })
}

// refusal says in Kafka's words why records were not appended, for the coordinator to translate further. What may
// pass by itself is COORDINATOR_NOT_AVAILABLE, on which clients try again; what is not known here is left as it is.
func refusal(err error) error {
	var bad *record.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad) && bad.Kind == record.TooLarge:
		return kerr.MessageTooLarge
	case errors.As(err, &bad):
		return kerr.UnknownServerError
	case errors.Is(err, engine.ErrTooLargeForSegment):
		return kerr.RecordListTooLarge
	case errors.Is(err, engine.ErrDeleted):
		return kerr.UnknownTopicOrPartition
	case errors.Is(err, engine.ErrNoSpace), errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrClosed):
		return kerr.CoordinatorNotAvailable
	}
	return err
}
