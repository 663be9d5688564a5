package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/engine"
	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/tools/logfile"
)

type logBackupFlags struct {
	json, noLinks, skipOffline bool
}

func logBackupCommand() *cobra.Command {
	var f logBackupFlags
	c := &cobra.Command{
		Use:   "backup SOURCE DEST",
		Short: "Copy the directory of a stopped broker, sharing what can be shared",
		Long: `Make DEST, which must not be there, from SOURCE, the log directory of a stopped broker, zurau's or Kafka's: its logs, its
metadata and the files beside them. A broker can be started from it. SOURCE is left as it is; where it was not stopped in
order, what a start would heal is healed in DEST. Everything is on stable storage when it is done.

Segments that are not written any more share their blocks with SOURCE's where the file system can do that (reflink: XFS,
Btrfs), else they are the same files under a second name (hard links), else, as on another file system, they are copied.
zurau never writes to a file that has two names. Kafka does not look: give --no-links where it is to run on one of the
two while the other is of use.

A log that is offline fails the backup, or is left out by --skip-offline. After an error nothing is left of DEST.

A program that embeds the engine makes the same of a running one with Engine.Backup.`,
		Example: `  zurau log backup zurau-data /backup/monday
  zurau log backup --no-links --json /var/lib/kafka /backup/kafka`,
		Args: argsBetween(2, 2),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], args[1]) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.noLinks, "no-links", false, "copy instead of making hard links")
	c.Flags().BoolVar(&f.skipOffline, "skip-offline", false, "leave out logs that are offline")
	return c
}

func (f *logBackupFlags) run(c *cobra.Command, from, to string) (err error) {
	if info, err := os.Stat(from); err != nil {
		return err
	} else if !info.IsDir() {
		return usagef("%s is a file: want a log directory", from)
	}
	lock, err := logfile.Lock(from)
	if errors.Is(err, logfile.ErrInUse) {
		return fmt.Errorf("%w: stop it first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	ctx, stop := interruptible(c.Context())
	defer stop()
	p := readingProgress("backup", []string{from})
	var mu sync.Mutex
	o := engine.BackupOptions{NoLinks: f.noLinks, SkipOffline: f.skipOffline, Progress: func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		p.add(n)
	}}
	b, err := engine.BackupDir(ctx, fs.OS(), from, to, o)
	p.clear()
	if err != nil {
		if interrupted(ctx) {
			err = context.Cause(ctx)
		}
		return err
	}
	out := newOutput(c.OutOrStdout())
	return out.done(f.print(out, to, b))
}

// backupLine is what a backup has, for programs.
type backupLine struct {
	Path    string           `json:"path"`
	Logs    int              `json:"logs"`
	Records int64            `json:"records"`
	Bytes   map[string]int64 `json:"bytes"`
	Offline []string         `json:"offline,omitempty"`
}

func (f *logBackupFlags) print(out *output, to string, b engine.Backup) error {
	line := backupLine{Path: to, Logs: b.Logs, Records: b.Records, Bytes: map[string]int64{}}
	for _, way := range []fs.Way{fs.Reflinked, fs.Linked, fs.Copied} {
		line.Bytes[way.String()] = b.Bytes[way]
	}
	for _, n := range b.Offline {
		line.Offline = append(line.Offline, n.String())
	}
	if f.json {
		return out.object(line)
	}
	fmt.Fprintf(out, "%s: %s, %s; bytes shared %s, linked %s, copied %s\n", to, plural(b.Logs, "log"), plural(b.Records, "record"),
		grouped(b.Bytes[fs.Reflinked]), grouped(b.Bytes[fs.Linked]), grouped(b.Bytes[fs.Copied]))
	if b.Unclean {
		fmt.Fprintln(out, "it was not stopped in order: the backup has what a start would have found, and shares nothing that was not flushed")
	}
	for _, n := range line.Offline {
		fmt.Fprintf(out, "left out, since it is offline: %s\n", n)
	}
	return nil
}
