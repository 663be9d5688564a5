package control

import (
	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
)

// BackupRequest asks for a backup of all of a broker's log directories.
type BackupRequest struct {
	From        []string `json:"from"` // the directories, absolute, in any order: who asks says which broker is meant
	To          []string `json:"to"`   // where the backup of each is to be, absolute: nothing must be there
	NoLinks     bool     `json:"noLinks"`
	SkipOffline bool     `json:"skipOffline"`
}

// A Backup is what the backup of one log directory has.
type Backup struct {
	Path    string           `json:"path"`
	Logs    int              `json:"logs"`
	Records int64            `json:"records"`
	Bytes   map[string]int64 `json:"bytes"`             // by how they were made: reflink, link, copy
	Offline []string         `json:"offline,omitempty"` // logs that were left out
	Unclean bool             `json:"unclean,omitempty"` // of a directory that nobody had, and that was not stopped in order
	// Missing says why there is none: the directory is offline, and was left out.
	Missing string `json:"missing,omitempty"`
}

// BackupOf tells of a backup at a path.
func BackupOf(path string, b engine.Backup) Backup {
	told := Backup{Path: path, Logs: b.Logs, Records: b.Records, Bytes: map[string]int64{}, Unclean: b.Unclean}
	for _, way := range []fs.Way{fs.Reflinked, fs.Linked, fs.Copied} {
		told.Bytes[way.String()] = b.Bytes[way]
	}
	for _, n := range b.Offline {
		told.Offline = append(told.Offline, n.String())
	}
	return told
}

// Progress is told how many bytes are done of how many.
type Progress func(done, total int64)

// line is one of the answer to a BackupRequest. The last one has Backups or Error.
type line struct {
	Done    int64    `json:"done,omitempty"`
	Total   int64    `json:"total,omitempty"`
	Backups []Backup `json:"backups"` // null but in the last one
	Error   string   `json:"error,omitempty"`
}
