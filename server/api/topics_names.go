package api

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/zurau/zurau/replication/metadata"
)

// Topics that are the broker's own. Clients see them marked as internal, whoever created them.
const (
	consumerOffsets  = "__consumer_offsets"
	transactionState = "__transaction_state"
	shareGroupState  = "__share_group_state"
	clusterMetadata  = "__cluster_metadata" // Kafka's name for its own metadata log: never made here
)

// InternalTopic reports whether a topic of that name is the broker's own.
func InternalTopic(name string) bool { return internalTopic(name) }

func internalTopic(name string) bool {
	return name == consumerOffsets || name == transactionState || name == shareGroupState
}

// maxTopicName leaves room in a folder's name, at most 255 bytes, for a dash and a partition's number.
const maxTopicName = 249 // bytes

// maxFolderName is what file systems allow: Linux's NAME_MAX.
const maxFolderName = 255 // bytes

// checkTopicName refuses what cannot be a topic. A topic is a folder of that name, so nothing that passes means
// anything to a file system.
func checkTopicName(name string) *refusal {
	switch {
	case name == "":
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: '.' or '..' is not allowed")
	case len(name) > maxTopicName:
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: its length of %d is more than %d", len(name), maxTopicName)
	}
	for i := range len(name) {
		if !topicByte(name[i]) {
			return refuse(kerr.InvalidTopicException,
				"Topic name is invalid: %q contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

func topicByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// collision finds another topic whose name differs by dots and underscores only. Such two would be one in the names of
// metrics, so Kafka refuses the second.
func collision(img *metadata.Image, name string) (other string, ok bool) {
	first := strings.IndexAny(name, "._")
	if first < 0 {
		return "", false
	}
	prefix, unified := name[:first], unify(name)
	for t := range img.Topics(prefix) {
		if !strings.HasPrefix(t.Name(), prefix) {
			break
		}
		if len(t.Name()) == len(name) && t.Name() != name && unify(t.Name()) == unified {
			return t.Name(), true
		}
	}
	return "", false
}

func unify(name string) string { return strings.ReplaceAll(name, ".", "_") }
