package giouringcheck

import (
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"github.com/zurau/zurau/uring"
)

func TestEntriesAndCompletionsHaveTheSameLayout(t *testing.T) {
	var a uring.Entry
	var b giouring.SubmissionQueueEntry
	var c uring.CQE
	var d giouring.CompletionQueueEvent
	for name, x := range map[string][2]uintptr{
		"entry":       {unsafe.Sizeof(a), unsafe.Sizeof(b)},
		"opcode":      {unsafe.Offsetof(a.OpCode), unsafe.Offsetof(b.OpCode)},
		"flags":       {unsafe.Offsetof(a.Flags), unsafe.Offsetof(b.Flags)},
		"ioprio":      {unsafe.Offsetof(a.IoPrio), unsafe.Offsetof(b.IoPrio)},
		"fd":          {unsafe.Offsetof(a.Fd), unsafe.Offsetof(b.Fd)},
		"off":         {unsafe.Offsetof(a.Off), unsafe.Offsetof(b.Off)},
		"addr":        {unsafe.Offsetof(a.Addr), unsafe.Offsetof(b.Addr)},
		"len":         {unsafe.Offsetof(a.Len), unsafe.Offsetof(b.Len)},
		"op flags":    {unsafe.Offsetof(a.OpFlags), unsafe.Offsetof(b.OpcodeFlags)},
		"user data":   {unsafe.Offsetof(a.UserData), unsafe.Offsetof(b.UserData)},
		"buf index":   {unsafe.Offsetof(a.BufIndex), unsafe.Offsetof(b.BufIG)},
		"personality": {unsafe.Offsetof(a.Personality), unsafe.Offsetof(b.Personality)},
		"file index":  {unsafe.Offsetof(a.FileIndex), unsafe.Offsetof(b.SpliceFdIn)},
		"addr3":       {unsafe.Offsetof(a.Addr3), unsafe.Offsetof(b.Addr3)},
		"completion":  {unsafe.Sizeof(c), unsafe.Sizeof(d)},
		"its data":    {unsafe.Offsetof(c.UserData), unsafe.Offsetof(d.UserData)},
		"its result":  {unsafe.Offsetof(c.Res), unsafe.Offsetof(d.Res)},
		"its flags":   {unsafe.Offsetof(c.Flags), unsafe.Offsetof(d.Flags)},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %d here and %d there", name, x[0], x[1])
		}
	}
}

func TestTheSameOperationGivesTheSameBytes(t *testing.T) {
	ring, err := uring.New(uring.Options{Entries: 64})
	if err != nil {
		t.Skip(err)
	}
	defer ring.Close() // drops what is prepared
	mem, err := uring.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Free()
	b := mem.Bytes()[8:108]
	addr := uintptr(unsafe.Pointer(&b[0]))

	for _, x := range []struct {
		name   string
		ours   func(s *uring.SQE)
		theirs func(e *giouring.SubmissionQueueEntry)
		mask   bool // leave the address out: it is wrong there, or of memory of its own
	}{
		{"nop", func(s *uring.SQE) { s.PrepNop() }, func(e *giouring.SubmissionQueueEntry) { e.PrepareNop() }, false},
		{"read", func(s *uring.SQE) { s.PrepRead(5, b, 1<<40) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareRead(5, addr, 100, 1<<40) }, false},
		{"write", func(s *uring.SQE) { s.PrepWrite(5, b, 1<<40) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareWrite(5, addr, 100, 1<<40) }, false},
		{"read fixed", func(s *uring.SQE) { s.PrepReadFixed(5, b, 9, 3) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareReadFixed(5, addr, 100, 9, 3) }, false},
		{"write fixed", func(s *uring.SQE) { s.PrepWriteFixed(5, b, 9, 3) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareWriteFixed(5, addr, 100, 9, 3) }, false},
		{"writev", func(s *uring.SQE) { s.PrepWritev(5, [][]byte{b, b}, 9) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareWritev(5, addr, 2, 9) }, true},
		{"readv", func(s *uring.SQE) { s.PrepReadv(5, [][]byte{b, b}, 9) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareReadv(5, addr, 2, 9) }, true},
		{"fsync", func(s *uring.SQE) { s.PrepFsync(5, uring.FsyncDatasync) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareFsync(5, giouring.FsyncDatasync) }, false},
		{"fallocate", func(s *uring.SQE) { s.PrepFallocate(5, 1, 4096, 8192) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareFallocate(5, 1, 4096, 8192) }, false},
		{"poll", func(s *uring.SQE) { s.PrepPollAdd(5, 1, 0) },
			func(e *giouring.SubmissionQueueEntry) { e.PreparePollAdd(5, 1) }, false},
		{"multishot poll", func(s *uring.SQE) { s.PrepPollAdd(5, 1, uring.PollAddMulti) },
			func(e *giouring.SubmissionQueueEntry) { e.PreparePollMultishot(5, 1) }, false},
		{"poll remove", func(s *uring.SQE) { s.PrepPollRemove(77) },
			func(e *giouring.SubmissionQueueEntry) { e.PreparePollRemove(77) }, false},
		{"cancel", func(s *uring.SQE) { s.PrepAsyncCancel(77, uring.CancelAll) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareCancel64(77, int(giouring.AsyncCancelAll)) }, false},
		{"cancel fd", func(s *uring.SQE) { s.PrepAsyncCancelFd(7, 0) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareCancelFd(7, 0) }, false},
		{"timeout", func(s *uring.SQE) { s.PrepTimeout(1, 3, uring.TimeoutAbs) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareTimeout(nil, 3, giouring.TimeoutAbs) }, true},
		{"link timeout", func(s *uring.SQE) { s.PrepLinkTimeout(1, uring.TimeoutBoottime) },
			func(e *giouring.SubmissionQueueEntry) { e.PrepareLinkTimeout(1, giouring.TimeoutBoottime) }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := ring.GetSQE()
			x.ours(s)
			s.SetUserData(42).SetFlags(uring.IODrain | uring.Async)
			var e giouring.SubmissionQueueEntry
			x.theirs(&e)
			e.SetData64(42)
			e.SetFlags(uint32(giouring.SqeIODrain | giouring.SqeAsync))
			ours, theirs := *s.Entry(), *(*uring.Entry)(unsafe.Pointer(&e))
			if x.mask {
				ours.Addr, theirs.Addr = 0, 0
			}
			if ours != theirs {
				t.Errorf("here  %+v\nthere %+v", ours, theirs)
			}
		})
	}
}
