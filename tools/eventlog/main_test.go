package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asServer has the test's binary be the program itself, so that it can be killed.
const asServer = "EVENTLOG_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A process is the program at work.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

func start(t *testing.T, dir string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--dir", dir, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asServer+"=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	return &process{t, cmd, "http://" + strings.TrimSpace(strings.TrimPrefix(line, "ready "))}
}

// end sends a signal and waits for the end.
func (p *process) end(s syscall.Signal) error {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
	return p.cmd.Wait()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post returns the offset of the last line, or why there is none.
func (p *process) post(topic, body string) (int64, error) {
	r, err := http.Post(p.url+"/"+topic, "text/plain", strings.NewReader(body))
	if err != nil {
		return -1, err
	}
	defer r.Body.Close()
	var answer struct{ Offset int64 }
	if r.StatusCode != http.StatusOK {
		return -1, fmt.Errorf("status %d", r.StatusCode)
	}
	return answer.Offset, json.NewDecoder(r.Body).Decode(&answer)
}

// all returns the values of a topic, whose offsets must be without a gap.
func (p *process) all(topic string) (values []string) {
	p.t.Helper()
	r, err := http.Get(p.url + "/" + topic)
	must(p.t, err)
	defer r.Body.Close()
	for lines := json.NewDecoder(r.Body); lines.More(); {
		var e event
		must(p.t, lines.Decode(&e))
		if e.Offset != int64(len(values)) || e.Time == 0 {
			p.t.Fatalf("%+v, want offset %d", e, len(values))
		}
		values = append(values, e.Value)
	}
	return values
}

func TestAcknowledgedEventsOutliveKill9(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[int64]string{}
	for round := range 3 {
		p := start(t, dir)
		values := p.all0("orders")
		for offset, want := range acknowledged {
			if int64(len(values)) <= offset || values[offset] != want {
				t.Fatalf("round %d: offset %d of %d is not %q", round, offset, len(values), want)
			}
		}
		var mu sync.Mutex
		var writers sync.WaitGroup
		enough := make(chan struct{}, 1)
		for w := range 8 {
			writers.Add(1)
			go func() {
				defer writers.Done()
				for i := 0; ; i++ {
					value := fmt.Sprintf("round %d writer %d event %d", round, w, i)
					offset, err := p.post("orders", value)
					if err != nil {
						return // it was killed
					}
					mu.Lock()
					acknowledged[offset] = value
					if len(acknowledged) == 100*(round+1) {
						enough <- struct{}{}
					}
					mu.Unlock()
				}
			}()
		}
		<-enough
		if err := p.end(syscall.SIGKILL); err == nil {
			t.Fatal("it was not killed")
		}
		writers.Wait()
	}
	p := start(t, dir)
	values := p.all("orders")
	for offset, want := range acknowledged {
		if int64(len(values)) <= offset || values[offset] != want {
			t.Errorf("offset %d of %d is not %q", offset, len(values), want)
		}
	}
	must(t, p.end(syscall.SIGTERM))
}

// all0 is all for a topic that may not be there yet.
func (p *process) all0(topic string) []string {
	p.t.Helper()
	r, err := http.Get(p.url + "/" + topic)
	must(p.t, err)
	r.Body.Close()
	if r.StatusCode == http.StatusNotFound {
		return nil
	}
	return p.all(topic)
}

func TestAFollowerGetsWhatComesUntilItHangsUpOrTheServerStops(t *testing.T) {
	p := start(t, t.TempDir())
	if offset, err := p.post("t", "a\nb\nc"); offset != 2 || err != nil {
		t.Fatalf("offset %d, %v", offset, err)
	}
	follow := func(ctx context.Context, from int) *json.Decoder {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/t?from=%d&follow=1", p.url, from), nil)
		must(t, err)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return json.NewDecoder(answer.Body)
	}
	next := func(d *json.Decoder, want string) {
		t.Helper()
		var e event
		must(t, d.Decode(&e))
		if e.Value != want {
			t.Fatalf("%+v, want %q", e, want)
		}
	}
	ctx, hangUp := context.WithCancel(context.Background())
	one, two := follow(ctx, 1), follow(context.Background(), 3-1)
	atEnd := follow(context.Background(), 3) // it learns so before there is a record
	next(one, "b")
	next(one, "c")
	next(two, "c")
	_, err := p.post("t", "d")
	must(t, err)
	next(one, "d")
	next(two, "d")
	next(atEnd, "d")
	hangUp()
	if err := one.Decode(new(event)); err == nil {
		t.Error("it goes on after the client has hung up")
	}
	began := time.Now()
	must(t, p.end(syscall.SIGTERM))
	if err := two.Decode(new(event)); err == nil {
		t.Error("it goes on after the server has stopped")
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("a follower has held up the stop for %v", took)
	}
}

func TestARequestThatTheServerIsAtWhenItStopsIsAnswered(t *testing.T) {
	p := start(t, t.TempDir())
	_, err := p.post("t", "a")
	must(t, err)
	follower, err := http.Get(p.url + "/t?from=0&follow=1")
	must(t, err)
	defer follower.Body.Close()
	events := json.NewDecoder(follower.Body)
	body, lines := io.Pipe()
	answers := make(chan error, 1)
	go func() {
		r, err := http.Post(p.url+"/t", "text/plain", body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", r.StatusCode)
		}
		answers <- err
	}()
	_, err = io.WriteString(lines, "b\n")
	must(t, err)
	var e event
	for e.Value != "b" {
		must(t, events.Decode(&e))
	}
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	for err = nil; err == nil; { // a stop ends followers first
		err = events.Decode(&e)
	}
	_, err = io.WriteString(lines, "c\n")
	must(t, errors.Join(err, lines.Close(), <-answers, p.cmd.Wait()))
}

func TestBadRequestsAreRefused(t *testing.T) {
	p := start(t, t.TempDir())
	for path, want := range map[string]int{"/none": 404, "/t?from=x": 400, "/t?from=-1": 400} {
		_, err := p.post("t", "a")
		must(t, err)
		r, err := http.Get(p.url + path)
		must(t, err)
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("GET %s: status %d, want %d", path, r.StatusCode, want)
		}
	}
	for topic, body := range map[string][]byte{"a%20b": []byte("x"), "t": bytes.Repeat([]byte("x"), maxLine+1), "empty": nil} {
		if offset, err := p.post(topic, string(body)); err == nil || err.Error() != "status 400" {
			t.Errorf("POST /%s: offset %d, %v", topic, offset, err)
		}
	}
	if r, err := http.Get(p.url + "/empty"); err != nil || r.Body.Close() != nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("nothing was posted, and there is a topic: %v", err)
	}
	r, err := http.Get(p.url + "/t?from=1000&follow=1")
	must(t, err)
	defer r.Body.Close()
	var answer struct{ Error string }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || !strings.Contains(answer.Error, "offset out of range") {
		t.Errorf("an offset behind the end: %q, %v", answer.Error, err)
	}
}
