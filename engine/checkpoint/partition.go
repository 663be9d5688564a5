package checkpoint

import (
	"path/filepath"
	"strings"

	"github.com/zurau/zurau/engine/fs"
)

// PartitionMetadataName is the file with the id of a log's topic, in the log's folder.
const PartitionMetadataName = "partition.metadata"

// ReadTopicID returns the id of the topic that the log in the folder dir belongs to. Errors: os.ErrNotExist,
// ErrCorrupt, or one of the file system.
func ReadTopicID(fsys fs.FS, dir string) (ID, error) {
	name := filepath.Join(dir, PartitionMetadataName)
	b, err := readFile(fsys, name)
	if err != nil {
		return ID{}, err
	}
	return parseTopicID(name, string(b))
}

// WriteTopicID replaces the file in the folder dir.
func WriteTopicID(fsys fs.FS, dir string, id ID) error {
	return Replace(fsys, filepath.Join(dir, PartitionMetadataName), formatTopicID(id))
}

// PutTopicID is WriteTopicID for a caller that flushes the folder itself.
func PutTopicID(fsys fs.FS, dir string, id ID) error {
	return put(fsys, filepath.Join(dir, PartitionMetadataName), formatTopicID(id))
}

func formatTopicID(id ID) []byte {
	return []byte("version: 0\ntopic_id: " + FormatID(id))
}

func parseTopicID(name, content string) (ID, error) {
	version, rest, _ := strings.Cut(content, "\n")
	if strings.TrimRight(version, "\r") != "version: 0" {
		return ID{}, corrupt(name, 1, "%q, expected \"version: 0\"", clip(version))
	}
	line, _, _ := strings.Cut(rest, "\n")
	text, found := strings.CutPrefix(strings.TrimRight(line, "\r"), "topic_id: ")
	if !found {
		return ID{}, corrupt(name, 2, "%q, expected \"topic_id: \" and an id", clip(line))
	}
	id, err := ParseID(text)
	if err != nil {
		return ID{}, corrupt(name, 2, "%v", err)
	}
	if id == (ID{}) { // Kafka refuses it too: no topic has it
		return ID{}, corrupt(name, 2, "the topic id is zero")
	}
	return id, nil
}
