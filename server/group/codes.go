package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// appendCode translates the error of an append into what the client is told, as Kafka does: what may pass is
// COORDINATOR_NOT_AVAILABLE, what says that the partition is elsewhere or offline NOT_COORDINATOR.
func appendCode(err error) int16 {
	if err == nil {
		return 0
	}
	code := kerr.KafkaStorageError.Code
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		code = kafka.Code
	}
	switch code {
	case kerr.UnknownTopicOrPartition.Code, kerr.NotEnoughReplicas.Code, kerr.RequestTimedOut.Code:
		return kerr.CoordinatorNotAvailable.Code
	case kerr.NotLeaderForPartition.Code, kerr.KafkaStorageError.Code:
		return kerr.NotCoordinator.Code
	case kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code, kerr.InvalidFetchSize.Code:
		return kerr.UnknownServerError.Code
	}
	return code
}
