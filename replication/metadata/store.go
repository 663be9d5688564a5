package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/zurau/zurau/engine/fs"
)

// The files, at the root of the data directory. Apache Kafka ignores plain files that it does not know.
const (
	logName      = "zurau-metadata.log"
	snapshotName = "zurau-metadata.snapshot"
	lockName     = "zurau-metadata.lock"
	tmpSuffix    = ".tmp"
)

// Present reports whether a directory has metadata, be it without a record yet.
func Present(fsys fs.FS, dir string) bool {
	for _, name := range []string{logName, snapshotName} {
		if _, err := fsys.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// store owns the files. Frames are staged in memory and go out in one write and one flush. It has one owner: the
// opener, then the node's goroutine. The first error of a write or flush is final; the owner must not go on.
type store struct {
	fsys fs.FS
	dir  string
	rand io.Reader
	lock io.Closer

	header       logHeader
	log          fs.File
	salt         uint32
	size         int64  // of the log, all of it flushed
	staged       []byte // frames of the next write
	snapshotSize int64
}

// openStore locks the directory's metadata and reads it; a directory without any gets an empty log. The log's tail is
// cut where a crash tore it, and the cut is durable on return.
func openStore(fsys fs.FS, dir string, rand io.Reader, header logHeader) (*store, *recovered, error) {
	s := &store{fsys: fsys, dir: dir, rand: rand, header: header}
	lock, err := fsys.Lock(s.path(lockName))
	if err != nil {
		return nil, nil, fmt.Errorf("lock metadata (does another process use this directory?): %w", err)
	}
	s.lock = lock
	r, err := s.load()
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	return s, r, nil
}

// load reads both files and opens the log.
func (s *store) load() (*recovered, error) {
	snapshot, err := s.read(snapshotName)
	if err != nil {
		return nil, err
	}
	b, err := s.read(logName)
	if err != nil {
		return nil, err
	}
	if b == nil && snapshot == nil {
		return &recovered{header: s.header, image: new(Image)}, s.replaceLog(0, 0, nil, nil) // row 1
	}
	r, err := s.recover(b, snapshot)
	if err != nil {
		return nil, err
	}
	s.header, s.salt, s.size, s.snapshotSize = r.header, r.salt, int64(r.end), int64(len(snapshot))
	if s.log, err = s.fsys.Open(s.path(logName), os.O_RDWR); err != nil {
		return nil, fmt.Errorf("open metadata log: %w", err)
	}
	if r.end < r.size {
		return r, s.cut()
	}
	return r, nil
}

// recover decodes both files and names the file in what it refuses.
func (s *store) recover(b, snapshot []byte) (r *recovered, err error) {
	image, term := new(Image), uint64(0)
	if snapshot != nil {
		if image, term, err = decodeSnapshot(snapshot); err != nil {
			return nil, s.refuse(snapshotName, err) // row 10
		}
	}
	if b == nil {
		return nil, s.refuse(logName, errors.New("it is missing, but its snapshot is there")) // row 2
	}
	if r, err = recoverLog(b, image, term); err != nil {
		return nil, s.refuse(logName, err)
	}
	return r, nil
}

// refuse wraps what is wrong with a file into what its owner needs to know.
func (s *store) refuse(name string, err error) error {
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s: %w; start the version that wrote it", s.path(name), err)
	}
	return fmt.Errorf("%s: %w: %w; nothing was changed: restore %s and %s together from a backup of this directory, "+
		"or move both away to start with empty metadata", s.path(name), ErrCorrupt, err, logName, snapshotName)
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// read returns a file's bytes, or nil where it does not exist.
func (s *store) read(name string) (b []byte, err error) {
	f, err := s.fsys.Open(s.path(name), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close() // nothing was written through it
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	b = make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && (n < len(b) || err != io.EOF) {
		return nil, fmt.Errorf("read %s at position %d: %w", name, n, err)
	}
	return b, nil
}

// cut removes the torn tail. It is durable before the next write: else old frames could follow new ones.
func (s *store) cut() error {
	if err := s.log.Truncate(s.size); err != nil {
		return fmt.Errorf("cut metadata log at position %d: %w", s.size, err)
	}
	if err := s.log.Datasync(); err != nil {
		return fmt.Errorf("flush metadata log after the cut at position %d: %w", s.size, err)
	}
	return nil
}

func (s *store) stageEntry(e *pb.Entry) {
	s.staged = appendFrame(s.staged, s.salt, 0, frameEntry, func(b []byte) []byte { return appendEntry(b, e) })
}

func (s *store) stageState(state *pb.HardState) {
	s.staged = appendFrame(s.staged, s.salt, 0, frameState, func(b []byte) []byte { return appendState(b, state) })
}

// flush writes what is staged. It returns once that is on stable storage.
func (s *store) flush() error {
	if len(s.staged) == 0 {
		return nil
	}
	if err := s.log.Write(s.staged, s.size, false); err != nil {
		return fmt.Errorf("write metadata log, %d bytes at position %d: %w", len(s.staged), s.size, err)
	}
	if err := s.log.Datasync(); err != nil {
		return fmt.Errorf("flush metadata log, %d bytes at position %d: %w", len(s.staged), s.size, err)
	}
	s.size += int64(len(s.staged))
	const keep = 1 << 20 // one large update must not hold its memory for ever
	if s.staged = s.staged[:0]; cap(s.staged) > keep {
		s.staged = nil
	}
	return nil
}

// replaceSnapshot puts the bytes of a snapshot in the place of the old one. The log still fits both.
func (s *store) replaceSnapshot(b []byte) error {
	f, err := s.replace(snapshotName, b)
	if err != nil {
		return err
	}
	s.snapshotSize = int64(len(b))
	if err := f.Close(); err != nil {
		return fmt.Errorf("close metadata snapshot: %w", err)
	}
	return nil
}

// replaceLog starts a new log file behind the entry at index, with the hard state and the entries that follow.
func (s *store) replaceLog(index, term uint64, state *pb.HardState, entries []*pb.Entry) error {
	var salt [4]byte
	if _, err := io.ReadFull(s.rand, salt[:]); err != nil {
		return fmt.Errorf("salt of the metadata log: %w", err)
	}
	old := s.log
	s.salt, s.header.index, s.header.term, s.staged = binary.BigEndian.Uint32(salt[:]), index, term, nil
	s.staged = appendFrame(nil, s.salt, 0, frameHeader, s.header.append)
	if state != nil {
		s.stageState(state)
	}
	for _, e := range entries {
		s.stageEntry(e)
	}
	f, err := s.replace(logName, s.staged)
	if err != nil {
		return err
	}
	s.log, s.size, s.staged = f, int64(len(s.staged)), nil
	if old != nil {
		if err := old.Close(); err != nil {
			return fmt.Errorf("close the replaced metadata log: %w", err)
		}
	}
	return nil
}

// replace writes a file beside name, makes it durable and renames it over. It returns the new file, still open.
func (s *store) replace(name string, b []byte) (f fs.File, err error) {
	tmp := s.path(name + tmpSuffix)
	if f, err = s.fsys.Open(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC); err != nil {
		return nil, fmt.Errorf("create %s: %w", tmp, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	if err = f.Write(b, 0, false); err != nil {
		return f, fmt.Errorf("write %s, %d bytes: %w", tmp, len(b), err)
	}
	if err = f.Datasync(); err != nil {
		return f, fmt.Errorf("flush %s: %w", tmp, err)
	}
	if err = s.fsys.Rename(tmp, s.path(name)); err != nil {
		return f, fmt.Errorf("rename %s to %s: %w", tmp, name, err)
	}
	if err = s.fsys.SyncDir(s.dir); err != nil {
		return f, fmt.Errorf("flush directory %s after the rename of %s: %w", s.dir, name, err)
	}
	return f, nil
}

// close gives the files and the lock back.
func (s *store) close() (err error) {
	if s.log != nil {
		err = s.log.Close()
	}
	return errors.Join(err, s.lock.Close())
}
