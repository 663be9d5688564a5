package giouringcheck

import (
	"testing"

	"github.com/pawelgaczynski/giouring"
	"github.com/zurau/zurau/uring"
)

func TestConstantsAreTheSame(t *testing.T) {
	for name, x := range map[string][2]uint64{
		"OpNop":           {uint64(uring.OpNop), uint64(giouring.OpNop)},
		"OpReadv":         {uint64(uring.OpReadv), uint64(giouring.OpReadv)},
		"OpWritev":        {uint64(uring.OpWritev), uint64(giouring.OpWritev)},
		"OpFsync":         {uint64(uring.OpFsync), uint64(giouring.OpFsync)},
		"OpReadFixed":     {uint64(uring.OpReadFixed), uint64(giouring.OpReadFixed)},
		"OpWriteFixed":    {uint64(uring.OpWriteFixed), uint64(giouring.OpWriteFixed)},
		"OpPollAdd":       {uint64(uring.OpPollAdd), uint64(giouring.OpPollAdd)},
		"OpPollRemove":    {uint64(uring.OpPollRemove), uint64(giouring.OpPollRemove)},
		"OpSyncFileRange": {uint64(uring.OpSyncFileRange), uint64(giouring.OpSyncFileRange)},
		"OpTimeout":       {uint64(uring.OpTimeout), uint64(giouring.OpTimeout)},
		"OpTimeoutRemove": {uint64(uring.OpTimeoutRemove), uint64(giouring.OpTimeoutRemove)},
		"OpAsyncCancel":   {uint64(uring.OpAsyncCancel), uint64(giouring.OpAsyncCancel)},
		"OpLinkTimeout":   {uint64(uring.OpLinkTimeout), uint64(giouring.OpLinkTimeout)},
		"OpFallocate":     {uint64(uring.OpFallocate), uint64(giouring.OpFallocate)},
		"OpClose":         {uint64(uring.OpClose), uint64(giouring.OpClose)},
		"OpRead":          {uint64(uring.OpRead), uint64(giouring.OpRead)},
		"OpWrite":         {uint64(uring.OpWrite), uint64(giouring.OpWrite)},
		"OpFadvise":       {uint64(uring.OpFadvise), uint64(giouring.OpFadvise)},
		"OpMsgRing":       {uint64(uring.OpMsgRing), uint64(giouring.OpMsgRing)},

		"FixedFile":      {uint64(uring.FixedFile), uint64(giouring.SqeFixedFile)},
		"IODrain":        {uint64(uring.IODrain), uint64(giouring.SqeIODrain)},
		"IOLink":         {uint64(uring.IOLink), uint64(giouring.SqeIOLink)},
		"IOHardlink":     {uint64(uring.IOHardlink), uint64(giouring.SqeIOHardlink)},
		"Async":          {uint64(uring.Async), uint64(giouring.SqeAsync)},
		"CQESkipSuccess": {uint64(uring.CQESkipSuccess), uint64(giouring.SqeCQESkipSuccess)},

		"FsyncDatasync":       {uring.FsyncDatasync, uint64(giouring.FsyncDatasync)},
		"TimeoutAbs":          {uring.TimeoutAbs, uint64(giouring.TimeoutAbs)},
		"TimeoutBoottime":     {uring.TimeoutBoottime, uint64(giouring.TimeoutBoottime)},
		"TimeoutRealtime":     {uring.TimeoutRealtime, uint64(giouring.TimeoutRealtime)},
		"TimeoutETimeSuccess": {uring.TimeoutETimeSuccess, uint64(giouring.TimeoutETimeSuccess)},
		"PollAddMulti":        {uring.PollAddMulti, uint64(giouring.PollAddMulti)},
		"CancelAll":           {uring.CancelAll, uint64(giouring.AsyncCancelAll)},
		"CancelFd":            {uring.CancelFd, uint64(giouring.AsyncCancelFd)},
		"CancelAny":           {uring.CancelAny, uint64(giouring.AsyncCancelAny)},
		"CancelFdFixed":       {uring.CancelFdFixed, uint64(giouring.AsyncCancelFdFixed)},
		"CQEFBuffer":          {uring.CQEFBuffer, uint64(giouring.CQEFBuffer)},
		"CQEFMore":            {uring.CQEFMore, uint64(giouring.CQEFMore)},

		"SetupIOPoll":       {uint64(uring.SetupIOPoll), uint64(giouring.SetupIOPoll)},
		"SetupSQPoll":       {uint64(uring.SetupSQPoll), uint64(giouring.SetupSQPoll)},
		"SetupCQSize":       {uint64(uring.SetupCQSize), uint64(giouring.SetupCQSize)},
		"SetupClamp":        {uint64(uring.SetupClamp), uint64(giouring.SetupClamp)},
		"SetupRDisabled":    {uint64(uring.SetupRDisabled), uint64(giouring.SetupRDisabled)},
		"SetupSubmitAll":    {uint64(uring.SetupSubmitAll), uint64(giouring.SetupSubmitAll)},
		"SetupCoopTaskrun":  {uint64(uring.SetupCoopTaskrun), uint64(giouring.SetupCoopTaskrun)},
		"SetupTaskrunFlag":  {uint64(uring.SetupTaskrunFlag), uint64(giouring.SetupTaskrunFlag)},
		"SetupSingleIssuer": {uint64(uring.SetupSingleIssuer), uint64(giouring.SetupSingleIssuer)},
		"SetupDeferTaskrun": {uint64(uring.SetupDeferTaskrun), uint64(giouring.SetupDeferTaskrun)},

		"FeatSingleMmap":    {uint64(uring.FeatSingleMmap), uint64(giouring.FeatSingleMMap)},
		"FeatNoDrop":        {uint64(uring.FeatNoDrop), uint64(giouring.FeatNoDrop)},
		"FeatSubmitStable":  {uint64(uring.FeatSubmitStable), uint64(giouring.FeatSubmitStable)},
		"FeatRWCurPos":      {uint64(uring.FeatRWCurPos), uint64(giouring.FeatRWCurPos)},
		"FeatFastPoll":      {uint64(uring.FeatFastPoll), uint64(giouring.FeatFastPoll)},
		"FeatPoll32":        {uint64(uring.FeatPoll32), uint64(giouring.FeatPoll32Bits)},
		"FeatExtArg":        {uint64(uring.FeatExtArg), uint64(giouring.FeatExtArg)},
		"FeatNativeWorkers": {uint64(uring.FeatNativeWorkers), uint64(giouring.FeatNativeWorkers)},
		"FeatRsrcTags":      {uint64(uring.FeatRsrcTags), uint64(giouring.FeatRcrcTags)},
		"FeatCQESkip":       {uint64(uring.FeatCQESkip), uint64(giouring.FeatCQESkip)},
		"FeatLinkedFile":    {uint64(uring.FeatLinkedFile), uint64(giouring.FeatLinkedFile)},
		"FeatRegRegRing":    {uint64(uring.FeatRegRegRing), uint64(giouring.FeatRegRegRing)},
	} {
		if x[0] != x[1] {
			t.Errorf("%s is %d here and %d there", name, x[0], x[1])
		}
	}
}
