package api

// InitProducerId (key 22), versions 0 to 5.
//
// Behaviours that matter:
//   - without a transactional id each request gets a producer id that nobody had before, with epoch 0, whatever id and
//     epoch it names
//   - with one, see transactional_ids.go: the id is kept and the epoch raised. An epoch that is not the newest is
//     PRODUCER_FENCED, before version 4 INVALID_PRODUCER_EPOCH
//   - an empty transactional id, or a producer id without an epoch (from version 3 on, KIP-360), is INVALID_REQUEST
//   - a timeout of 0 or less, or above transaction.max.timeout.ms, is INVALID_TRANSACTION_TIMEOUT
//   - producer ids come in blocks from the metadata: one request in a thousand waits for the disk. If that fails the
//     answer is COORDINATOR_LOAD_IN_PROGRESS, on which clients ask again and nothing else

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/zurau/zurau/server/wire"
)

func (b *Broker) initProducerID(r *wire.Request) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	if err := r.Decode(req); err != nil {
		return err
	}
	if code := b.checkInit(req); code != 0 {
		replyInit(r, idAndEpoch{-1, -1}, code)
		return nil
	}
	if p, code, ok := b.ids.init(req); ok {
		replyInit(r, p, code)
		return nil
	}
	go b.initLater(r, req)
	return nil
}

// initLater answers a request that needs a new block of ids. It waits for the disk.
func (b *Broker) initLater(r *wire.Request, req *kmsg.InitProducerIDRequest) {
	for {
		if err := b.ids.fill(b.Stop, b.Metadata.AllocateProducerIDs); err != nil {
			b.Log.Warn("no producer ids", "error", err)
			replyInit(r, idAndEpoch{-1, -1}, kerr.CoordinatorLoadInProgress.Code)
			return
		}
		if p, code, ok := b.ids.init(req); ok {
			replyInit(r, p, code)
			return
		} // others were faster and used the block up
	}
}

// checkInit returns the code for a request that makes no sense, or 0.
func (b *Broker) checkInit(req *kmsg.InitProducerIDRequest) int16 {
	switch id := req.TransactionalID; {
	case (req.ProducerID == -1) != (req.ProducerEpoch == -1), id != nil && *id == "":
		return kerr.InvalidRequest.Code
	case id != nil && (req.TransactionTimeoutMillis <= 0 || req.TransactionTimeoutMillis > b.Layers().Int("transaction.max.timeout.ms")):
		return kerr.InvalidTransactionTimeout.Code
	}
	return 0
}

func replyInit(r *wire.Request, p idAndEpoch, code int16) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	if code == kerr.ProducerFenced.Code && r.Version < 4 {
		code = kerr.InvalidProducerEpoch.Code
	}
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, p.id, p.epoch
	r.Reply(resp)
}

// idAndEpoch is who a producer is.
type idAndEpoch struct {
	id    int64
	epoch int16
}

// producerIDs gives producer ids away. The zero value is ready. What is left of a block when the broker stops is lost,
// as in Kafka.
type producerIDs struct {
	asking sync.Mutex // one request asks for a block, and those behind it find it; taken before block
	block  struct {
		sync.Mutex
		next, end int64
	}

	transactional transactionalIDs
}

// init decides on a request that makes sense. Where it needs a new producer id and there is none at hand, it has done
// nothing and returns false. It does not wait.
func (ids *producerIDs) init(req *kmsg.InitProducerIDRequest) (p idAndEpoch, code int16, ok bool) {
	if req.TransactionalID != nil {
		return ids.transactional.init(*req.TransactionalID, idAndEpoch{req.ProducerID, req.ProducerEpoch}, ids.take)
	}
	id, ok := ids.take()
	return idAndEpoch{id, 0}, 0, ok
}

// take returns a producer id, unless the block is used up.
func (ids *producerIDs) take() (int64, bool) {
	ids.block.Lock()
	defer ids.block.Unlock()
	if ids.block.next == ids.block.end {
		return -1, false
	}
	ids.block.next++
	return ids.block.next - 1, true
}

// fill sees to it that there are producer ids, if need be a new block. It may wait for the disk.
func (ids *producerIDs) fill(ctx context.Context, allocate func(context.Context) (int64, int, error)) error {
	ids.asking.Lock()
	defer ids.asking.Unlock()
	ids.block.Lock()
	some := ids.block.next < ids.block.end
	ids.block.Unlock()
	if some {
		return nil
	}
	first, n, err := allocate(ctx)
	if err != nil {
		return err
	}
	ids.block.Lock()
	defer ids.block.Unlock()
	ids.block.next, ids.block.end = first, first+int64(n)
	return nil
}
