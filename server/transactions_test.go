package server

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func FuzzTransactionRecord(f *testing.F) {
	key := kmsg.TxnMetadataKey{TransactionalID: "id"}
	value := kmsg.NewTxnMetadataValue()
	value.Version, value.State = 1, kmsg.TransactionStateOngoing
	value.Topics = []kmsg.TxnMetadataValueTopic{{Topic: "t", Partitions: []int32{0, 1}}}
	f.Add(key.AppendTo(nil), value.AppendTo(nil))
	f.Add(key.AppendTo(nil), []byte{0, 9})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		open := map[string]kmsg.TxnMetadataValue{}
		if noteTransaction(open, key, value) == nil && len(open) == 1 && noteTransaction(open, key, nil) == nil && len(open) != 0 {
			t.Errorf("%x is open after its tombstone", key)
		}
	})
}
