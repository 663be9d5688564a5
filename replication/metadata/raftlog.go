package metadata

import (
	"fmt"
	"log/slog"

	"go.etcd.io/raft/v3"
)

// raftLogger passes what Raft says on to slog. Its news of elections are of interest to few: debug.
type raftLogger struct{ log *slog.Logger }

var _ raft.Logger = raftLogger{}

func (l raftLogger) Debug(v ...any)                   { l.log.Debug(fmt.Sprint(v...)) }
func (l raftLogger) Debugf(format string, v ...any)   { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l raftLogger) Info(v ...any)                    { l.log.Debug(fmt.Sprint(v...)) }
func (l raftLogger) Infof(format string, v ...any)    { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l raftLogger) Warning(v ...any)                 { l.log.Warn(fmt.Sprint(v...)) }
func (l raftLogger) Warningf(format string, v ...any) { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l raftLogger) Error(v ...any)                   { l.log.Error(fmt.Sprint(v...)) }
func (l raftLogger) Errorf(format string, v ...any)   { l.log.Error(fmt.Sprintf(format, v...)) }

// Raft calls these where its own state contradicts itself. That is a bug, and a bug panics.
func (l raftLogger) Fatal(v ...any) { panic("metadata: raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Fatalf(format string, v ...any) {
	panic("metadata: raft: " + fmt.Sprintf(format, v...))
}
func (l raftLogger) Panic(v ...any) { panic("metadata: raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Panicf(format string, v ...any) {
	panic("metadata: raft: " + fmt.Sprintf(format, v...))
}
