package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listening is a server in a directory of a long name, closed with the test.
func listening(t *testing.T, backup func(context.Context, BackupRequest, Progress) ([]Backup, error)) (dir string, s *Server) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	must(t, os.Mkdir(dir, 0o755))
	s, err := Listen(dir, Broker{Backup: backup, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(s.Close)
	return dir, s
}

func noProgress(int64, int64) {}

func TestABrokerIsAskedByItsDirectoryWhateverItIsCalled(t *testing.T) {
	want := BackupRequest{From: []string{"/a", "/b"}, To: []string{"/c", "/d"}, NoLinks: true}
	made := []Backup{{Path: "/c", Logs: 3, Records: 4, Bytes: map[string]int64{"copy": 5}, Offline: []string{"t-0"}}, {Path: "/d", Missing: "gone"}}
	next := make(chan struct{})
	dir, _ := listening(t, func(_ context.Context, r BackupRequest, p Progress) ([]Backup, error) {
		if !reflect.DeepEqual(r, want) {
			t.Errorf("asked for %+v", r)
		}
		p(7, 10)
		<-next
		return made, nil
	})
	told := false
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	got, err := AskBackup(context.Background(), link, want, func(done, total int64) {
		if done != 7 || total != 10 {
			t.Errorf("%d of %d", done, total)
		}
		if !told {
			told = true
			close(next)
		}
	})
	if err != nil || !reflect.DeepEqual(got, made) || !told {
		t.Errorf("%+v, %v, progress %t", got, err, told)
	}
}

func TestWhatABrokerSaysOfItsErrorIsToldAndTheNextRequestIsAnswered(t *testing.T) {
	fail := true
	dir, _ := listening(t, func(context.Context, BackupRequest, Progress) ([]Backup, error) {
		if fail {
			return nil, errors.New("no room")
		}
		return []Backup{}, nil
	})
	if _, err := AskBackup(context.Background(), dir, BackupRequest{}, noProgress); err == nil || err.Error() != "no room" {
		t.Errorf("%v", err)
	}
	fail = false
	if _, err := AskBackup(context.Background(), dir, BackupRequest{}, noProgress); err != nil {
		t.Errorf("%v", err)
	}
	c, err := dial(context.Background(), dir)
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "POST /backup HTTP/1.0\r\nContent-Length: 3\r\n\r\n{{{")
	must(t, err)
	answer, err := io.ReadAll(c)
	must(t, err)
	if !strings.HasPrefix(string(answer), "HTTP/1.0 400 ") {
		t.Errorf("garbage is answered with %q", answer)
	}
}

func TestOnlyTheBrokersUserAndRootAreAnswered(t *testing.T) {
	dir := t.TempDir()
	ln, err := listen(dir)
	must(t, err)
	ln.users = []uint32{uint32(os.Geteuid()) + 1} // this process is a stranger
	accepted := make(chan error, 1)
	go func() {
		_, err := ln.Accept()
		accepted <- err
	}()
	c, err := dial(context.Background(), dir)
	must(t, err)
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a stranger reads %d bytes, %v", n, err)
	}
	must(t, c.Close())
	must(t, ln.Close())
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted with %v", err)
	}
}

func TestThereIsNothingInTheDirectory(t *testing.T) {
	dir, _ := listening(t, nil)
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("%v", entries)
	}
}

func TestARequestEndsWithWhoWaitsForIt(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	dir, _ := listening(t, func(ctx context.Context, _ BackupRequest, _ Progress) ([]Backup, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	go func() {
		<-begun
		cancel(gone)
	}()
	if _, err := AskBackup(ctx, dir, BackupRequest{}, noProgress); !errors.Is(err, gone) {
		t.Errorf("who has gone is told %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the work ended with %v", err)
	}
}

func TestAStopEndsWhatIsAskedAndSaysSo(t *testing.T) {
	begun := make(chan struct{})
	dir, s := listening(t, func(ctx context.Context, _ BackupRequest, _ Progress) ([]Backup, error) {
		close(begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	go func() {
		<-begun
		s.Close()
	}()
	if _, err := AskBackup(context.Background(), dir, BackupRequest{}, noProgress); err == nil || err.Error() != errStopping.Error() {
		t.Errorf("%v", err)
	}
	s.Close()
}

func TestABrokerThatIsNotThereIsToldApart(t *testing.T) {
	dir := t.TempDir()
	ask := func(want error) {
		t.Helper()
		if _, err := AskBackup(context.Background(), dir, BackupRequest{}, noProgress); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ask(ErrNobody)
	ln, err := listen(dir)
	must(t, err)
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		c, err := ln.Accept()
		if err == nil {
			_, err = io.ReadAtLeast(c, make([]byte, 4), 4)
			err = errors.Join(err, c.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	ask(ErrCutOff)
	<-hungUp
	must(t, ln.Close())
	ask(ErrNobody)
}
