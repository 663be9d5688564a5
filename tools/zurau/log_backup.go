package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/server/control"
	"github.com/zurau/zurau/tools/logfile"
)

type logBackupFlags struct {
	json, noLinks, skipOffline bool
}

func logBackupCommand() *cobra.Command {
	var f logBackupFlags
	c := &cobra.Command{
		Use:   "backup SOURCE DEST",
		Short: "Make a backup of a broker that runs, or of one that does not",
		Long: `Make DEST, which must not be there, from SOURCE, the log directory of a broker: its logs, its metadata and the files
beside them. A broker can be started from it. Everything is on stable storage when it is done.

A broker of zurau that runs makes it itself, and goes on meanwhile: all that was acknowledged before is in it. It is asked
by a socket, so this is for its user, or root, and for the container that it is in. A broker that is stopped, zurau's or Kafka's, is not needed: SOURCE
is only read, and may be on a read-only mount. Where it was not stopped in order, what a start would heal is healed in DEST.

A broker with several log directories has them all in one backup: SOURCE names them, with commas between, and DEST a place
for each. To start from it, give those places to --data in the same order.

Segments that are not written any more share their blocks with SOURCE's where the file system can do that (reflink: XFS,
Btrfs), else they are the same files under a second name (hard links), else, as on another file system, they are copied.
zurau never writes to a file that has two names. Kafka does not look: give --no-links where it is to run on one of the
two while the other is of use.

A log that is offline fails the backup, or is left out by --skip-offline. After an error, or an interrupt, nothing is left
of DEST. After a kill of the broker, or of this command where it does the work, DEST.incomplete is left: no broker starts on
it, and the next backup to DEST replaces it. The exit status is 0 where the backup is made, and else 1.

A program that embeds the engine makes the same with Engine.Backup, and one that embeds a broker with Server.Backup.`,
		Example: `  zurau log backup zurau-data /backup/monday
  zurau log backup /disk1/zurau,/disk2/zurau /disk1/monday,/disk2/monday
  zurau log backup --no-links --json /var/lib/kafka /backup/kafka`,
		Args: argsBetween(2, 2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], args[1]) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line for each directory")
	c.Flags().BoolVar(&f.noLinks, "no-links", false, "copy instead of making hard links")
	c.Flags().BoolVar(&f.skipOffline, "skip-offline", false, "leave out logs and directories that are offline")
	return c
}

func (f *logBackupFlags) run(c *cobra.Command, from, to string) error {
	sources, dests := strings.Split(from, ","), strings.Split(to, ",")
	if len(sources) != len(dests) {
		return usagef("%d directories and %d places: want a place for each, with commas between", len(sources), len(dests))
	}
	for _, dir := range sources {
		if info, err := os.Stat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return usagef("%s is a file: want a log directory", dir)
		}
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	backups, err := f.make(ctx, sources, dests)
	if err != nil {
		if interrupted(ctx) {
			err = context.Cause(ctx)
		}
		return err
	}
	out := newOutput(c.OutOrStdout())
	for i, b := range backups {
		f.print(out, sources[i], b)
	}
	return out.done(nil)
}

// make has the broker make the backups, where one runs, and else makes them.
func (f *logBackupFlags) make(ctx context.Context, sources, dests []string) (backups []control.Backup, err error) {
	var readings []*logfile.Reading
	defer func() {
		for _, r := range readings {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, dir := range sources {
		r, err := logfile.Read(dir)
		if errors.Is(err, logfile.ErrInUse) {
			return f.ask(ctx, sources, dests, err)
		}
		if err != nil {
			return nil, err
		}
		readings = append(readings, r)
	}
	p := readingProgress("backup", sources)
	defer p.clear()
	var mu sync.Mutex
	for i, r := range readings {
		b, err := engine.BackupDir(ctx, fs.OS(), sources[i], dests[i], engine.BackupOptions{
			NoLinks: f.noLinks, SkipOffline: f.skipOffline, AfterLogs: func(string) error { return r.Check() },
			Progress: func(n int64) {
				mu.Lock()
				defer mu.Unlock()
				p.add(n)
			},
		})
		if err != nil {
			for _, made := range dests[:i] {
				err = errors.Join(err, os.RemoveAll(made))
			}
			return nil, err
		}
		backups = append(backups, control.BackupOf(dests[i], b))
	}
	return backups, nil
}

// ask has the broker make the backups that has the directories.
func (f *logBackupFlags) ask(ctx context.Context, sources, dests []string, inUse error) ([]control.Backup, error) {
	r := control.BackupRequest{NoLinks: f.noLinks, SkipOffline: f.skipOffline}
	for i := range sources {
		from, err := filepath.Abs(sources[i]) // its working directory is another one
		if err != nil {
			return nil, err
		}
		to, err := filepath.Abs(dests[i])
		if err != nil {
			return nil, err
		}
		r.From, r.To = append(r.From, from), append(r.To, to)
	}
	var p *progress
	defer func() { p.clear() }()
	for _, dir := range r.From {
		backups, err := control.AskBackup(ctx, dir, r, func(done, total int64) {
			if p == nil {
				p = newProgress("backup", "bytes", total)
			}
			p.set(done)
		})
		if errors.Is(err, control.ErrNobody) {
			continue // its metadata is in another one
		}
		if errors.Is(err, control.ErrCutOff) {
			err = fmt.Errorf("%w: what there is of the backup ends in %s, and can be removed", err, engine.Incomplete)
		}
		return backups, err
	}
	return nil, fmt.Errorf("%w, which does not listen to commands in this network namespace: name all of its directories, or go into its container, or stop it first", inUse)
}

func (f *logBackupFlags) print(out *output, from string, b control.Backup) {
	if f.json {
		_ = out.object(b) // the error stays for the end
		return
	}
	if b.Missing != "" {
		fmt.Fprintf(out, "%s: left out, since it is offline: %s\n", from, b.Missing)
		return
	}
	fmt.Fprintf(out, "%s: %s, %s; bytes shared %s, linked %s, copied %s\n", b.Path, plural(b.Logs, "log"), plural(b.Records, "record"),
		grouped(b.Bytes[fs.Reflinked.String()]), grouped(b.Bytes[fs.Linked.String()]), grouped(b.Bytes[fs.Copied.String()]))
	if b.Unclean {
		fmt.Fprintf(out, "%s was not stopped in order: the backup has what a start on it would have found, and shares nothing that was not flushed\n", from)
	}
	for _, n := range b.Offline {
		fmt.Fprintf(out, "left out, since it is offline: %s\n", n)
	}
}
