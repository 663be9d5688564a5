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
	File     string
	At       int64 // position of the bytes in File
}

// StagedRuns returns what the next Open of a directory will look for in its segments and append where it is missing there: for
// tools that read the files themselves. An engine must not have the directory.
func StagedRuns(fsys fs.FS, dir string) (runs map[Name][]StagedRun, err error) {
	name := filepath.Join(dir, stageName)
	f, err := fsys.Open(name, os.O_RDONLY)
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
			runs[n] = append(runs[n], StagedRun{r.base, r.position, r.size, name, r.at})
		}
	}
	return runs, err
}

// KeptRuns returns what earlier starts kept in the folder of a log that was offline: the next Open that finds the log sound looks for it
// as for what is staged.
func KeptRuns(fsys fs.FS, dir string) (runs []StagedRun, err error) {
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		base, position, ok := parseRedo(e.Name())
		if !ok {
			continue
		}
		name := filepath.Join(dir, e.Name())
		info, err := fsys.Stat(name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, StagedRun{base, position, info.Size(), name, 0})
	}
	return runs, err
}
