package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/server/offsets"
	"github.com/zurau/zurau/server/partition"
)

// transactionState is the topic in which Apache Kafka keeps transactions.
const transactionState = "__transaction_state"

// nameOpenTransactions names the transactions that a directory of Apache Kafka has open, in the log: until a coordinator ends
// them, consumers of committed records wait behind them. ctx ends it early.
func (s *Server) nameOpenTransactions(ctx context.Context) {
	topic := s.broker.Partitions.ByName(transactionState)
	if topic == nil {
		return
	}
	for _, p := range topic.Partitions() {
		if err := s.nameOpenIn(ctx, p); err != nil && ctx.Err() == nil {
			s.log.Warn("transactions that are open cannot be named", "topic", transactionState, "partition", p.ID, "error", err)
		}
	}
}

func (s *Server) nameOpenIn(ctx context.Context, p *partition.Partition) error {
	if p.Log == nil {
		return nil
	}
	open, err := openTransactions(p.Log, ctx.Err)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		t := open[id]
		s.log.Warn("a transaction is open", "transactional.id", id, "producer", t.ProducerID, "epoch", t.ProducerEpoch, "state", t.State.String(),
			"partitions", places(t.Topics))
	}
	return nil
}

// openTransactions reads the newest state of each transactional id, and returns those that are neither new nor over.
func openTransactions(l *engine.Log, ended func() error) (map[string]kmsg.TxnMetadataValue, error) {
	open := map[string]kmsg.TxnMetadataValue{}
	for b, err := range offsets.Batches(l, ended) {
		if err != nil {
			return nil, err
		}
		if b.IsControl() {
			continue
		}
		for r, err := range b.Records(0) {
			if err == nil {
				err = noteTransaction(open, r.Key, r.Value)
			}
			if err != nil {
				return nil, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
			}
		}
	}
	return open, nil
}

// noteTransaction takes in one record. Those of other kinds are skipped.
func noteTransaction(open map[string]kmsg.TxnMetadataValue, key, value []byte) error {
	if len(key) < 2 || key[0] != 0 || key[1] != 0 {
		return nil
	}
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return fmt.Errorf("key of a transaction: %w", err)
	}
	delete(open, k.TransactionalID)
	if value == nil {
		return nil
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return fmt.Errorf("transaction of %q: %w", k.TransactionalID, err)
	}
	switch v.State {
	case kmsg.TransactionStateOngoing, kmsg.TransactionStatePrepareCommit, kmsg.TransactionStatePrepareAbort:
		open[k.TransactionalID] = v
	}
	return nil
}

// places lists partitions as people write them.
func places(topics []kmsg.TxnMetadataValueTopic) (all []string) {
	for _, t := range topics {
		for _, p := range t.Partitions {
			all = append(all, fmt.Sprintf("%s-%d", t.Topic, p))
		}
	}
	return all
}
