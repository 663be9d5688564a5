package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/zurau/zurau/tools/logfile"
)

func logCommand() *cobra.Command {
	return group("log", "Show, check, repair and back up the files of logs", logDumpCommand(), logVerifyCommand(), logRepairCommand(),
		logBackupCommand())
}

// atLeastOnePath checks that a command got paths.
func atLeastOnePath(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%s: the path of a file or directory is missing", named(c))
	}
	return nil
}

// readingProgress returns a progress over all that is to be read of paths.
func readingProgress(what string, paths []string) *progress {
	var total int64
	for _, path := range paths {
		err := logfile.Walk(path, func(_ string, size int64) error {
			total += size
			return nil
		})
		if err != nil {
			return nil // the work itself will say it
		}
	}
	return newProgress(what, "bytes", total)
}

// exist returns the first error of looking at paths: a name that is mistyped is told before long work.
func exist(paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	return nil
}
