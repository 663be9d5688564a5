package fs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Java's locks are those of fcntl(2), which flock(2) does not see. They belong to a process, and conflict with an open file's
// even inside one.
func TestALockKeepsJavaOutAndJavasIsSeen(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".lock")
	if Locked(name) {
		t.Error("a file that is not there is locked")
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look made a file: %v", err)
	}
	java := func() (*os.File, error) {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		return f, unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	f, err := java()
	must(t, err)
	_, err = OS().Lock(name)
	wantErr(t, "a lock beside Java's", err, ErrLocked)
	must(t, f.Close())
	f, err = java() // the last one went when this process closed the file
	must(t, err)
	if !Locked(name) {
		t.Error("Java's lock is not seen")
	}
	must(t, f.Close())
	held, err := OS().Lock(name)
	must(t, err)
	f, err = java()
	wantErr(t, "Java's lock beside ours", err, unix.EAGAIN)
	must(t, f.Close())
	if _, err := OS().Lock(name); !errors.Is(err, ErrLocked) || !Locked(name) {
		t.Errorf("somebody closed the file, and with it went the lock: %v", err)
	}
	must(t, held.Close())
	if Locked(name) {
		t.Error("locked when nobody is left")
	}
}

func TestAHoldMakesNoFileAndKeepsTheLockFromOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".lock")
	_, err := Hold(name)
	wantErr(t, "of a file that is not there", err, fs.ErrNotExist)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made a file: %v", err)
	}
	must(t, os.WriteFile(name, nil, 0o444))
	one, err := Hold(name)
	must(t, err)
	two, err := Hold(name)
	must(t, err)
	must(t, one.Close())
	_, err = OS().Lock(name)
	wantErr(t, "a lock beside it", err, ErrLocked)
	f, err := os.OpenFile(name, os.O_RDWR, 0) // Java's
	must(t, err)
	wantErr(t, "Java's lock beside it", unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}), unix.EAGAIN)
	must(t, f.Close())
	must(t, two.Close())
	held, err := OS().Lock(name)
	must(t, err)
	_, err = Hold(name)
	wantErr(t, "beside a lock", err, ErrLocked)
	must(t, held.Close())
}
