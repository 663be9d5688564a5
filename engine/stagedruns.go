package engine

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/zurau/zurau/engine/fs"
)

// StageName is the file that StagedRuns are in.
const StageName = stageName

// A StagedRun is where records belong that a killed process had acknowledged and may not have put into their segment.
type StagedRun struct {
	Base     int64 // of the segment
	Position int64 // in its file, bytes
	Size     int64 // bytes
	At       int64 // position of the bytes in the file StageName of the directory
}

// StagedRuns returns what the next Open of a directory will look for in its segments and append where it is missing there: for
// tools that read the files themselves. An engine must not have the directory.
func StagedRuns(fsys fs.FS, dir string) (runs map[Name][]StagedRun, err error) {
	f, err := fsys.Open(filepath.Join(dir, stageName), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	found, err := readSlots(f, fsys.Boot())
	runs = make(map[Name][]StagedRun, len(found))
	for n, all := range found {
		for _, r := range all {
			runs[n] = append(runs[n], StagedRun{r.base, r.position, r.size, r.at})
		}
	}
	return runs, err
}
