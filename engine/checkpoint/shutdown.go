package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/zurau/zurau/engine/fs"
)

// CleanShutdownName is the file at the root of a log directory that an orderly stop leaves behind.
const CleanShutdownName = ".kafka_cleanshutdown"

// ReadCleanShutdown reports whether the log directory dir was stopped in order, and in which broker epoch: -1 where
// the file does not say (Kafka before 3.8 wrote an empty one). The file is written after everything else was flushed,
// so that it is there is enough.
func ReadCleanShutdown(fsys fs.FS, dir string) (brokerEpoch int64, clean bool, err error) {
	b, err := readFile(fsys, filepath.Join(dir, CleanShutdownName))
	if errors.Is(err, os.ErrNotExist) {
		return -1, false, nil
	}
	if err != nil {
		return -1, false, err
	}
	return parseCleanShutdown(b), true, nil
}

// WriteCleanShutdown says that the stop of dir was orderly. Everything else must have been flushed before.
func WriteCleanShutdown(fsys fs.FS, dir string, brokerEpoch int64) error {
	return Replace(fsys, filepath.Join(dir, CleanShutdownName), formatCleanShutdown(brokerEpoch))
}

// RemoveCleanShutdown durably removes the file where it is there. It must return before anything in dir is changed.
func RemoveCleanShutdown(fsys fs.FS, dir string) error {
	err := fsys.Remove(filepath.Join(dir, CleanShutdownName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("remove the mark of an orderly stop: %w", err)
	}
	return nil
}

func formatCleanShutdown(brokerEpoch int64) []byte {
	b := append([]byte(nil), `{"version":0,"brokerEpoch":`...)
	b = strconv.AppendInt(b, brokerEpoch, 10)
	return append(b, '}')
}

// parseCleanShutdown returns the broker epoch, -1 where there is none that can be read. As in Kafka the version is not
// looked at and other fields are passed over.
func parseCleanShutdown(content []byte) int64 {
	var c struct {
		BrokerEpoch *int64 `json:"brokerEpoch"`
	}
	if json.Unmarshal(content, &c) != nil || c.BrokerEpoch == nil {
		return -1
	}
	return *c.BrokerEpoch
}
