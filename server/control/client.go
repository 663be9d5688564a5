package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// ErrCutOff is returned where a broker ended, or went away, in the midst of what it was asked for.
var ErrCutOff = errors.New("the broker has ended, or was killed")

// AskBackup asks the broker whose metadata is in a directory for a backup, and returns when that is made. It returns ErrNobody where no
// broker listens, and ErrCutOff where one went away meanwhile: what it left then has names that end in engine.Incomplete.
func AskBackup(ctx context.Context, dir string, req BackupRequest, progress Progress) ([]Backup, error) {
	c, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	web := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return c, nil },
	}}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://broker/backup", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := web.Do(r)
	if err != nil {
		return nil, cutOff(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxRequest)) // the status says it, too
		return nil, fmt.Errorf("the broker answers %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	for in := json.NewDecoder(resp.Body); ; {
		var l line
		if err := in.Decode(&l); err != nil {
			return nil, cutOff(ctx, err)
		}
		switch {
		case l.Error != "":
			return nil, errors.New(l.Error)
		case l.Backups != nil:
			return l.Backups, nil
		}
		progress(l.Done, l.Total)
	}
}

// cutOff says why an answer is not there: because who waits for it does so no longer, or by the broker.
func cutOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrCutOff, err)
}
