package netio

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var pageSize = uint64(os.Getpagesize())

// noCachestat is set once the kernel has said that it has no cachestat (before 6.5, or a seccomp filter): a fact about
// the process's kernel, not state of ours.
var noCachestat atomic.Bool

// cached says whether n bytes of a file from position have their pages in the page cache. Those may be on their way from the disk: see
// inMemory. An error of the question counts as no.
func cached(fd int, position int64, n int) bool {
	if n <= 0 {
		return true
	}
	if !noCachestat.Load() {
		// The kernel counts the pages from Off>>shift to (Off+Len-1)>>shift.
		first, last := uint64(position)/pageSize, (uint64(position)+uint64(n)-1)/pageSize
		var st unix.Cachestat_t
		err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(position), Len: uint64(n)}, &st, 0)
		if err == nil {
			return st.Cache >= last-first+1
		}
		if err != unix.ENOSYS && err != unix.EPERM && err != unix.EOPNOTSUPP {
			return false
		}
		noCachestat.Store(err != unix.EOPNOTSUPP)
	}
	return nowait(fd, position) && nowait(fd, position+int64(n)-1)
}

// nowait says whether the byte at position can be read without waiting.
func nowait(fd int, position int64) bool {
	var b [1]byte
	n, err := unix.Preadv2(fd, [][]byte{b[:]}, position, unix.RWF_NOWAIT)
	return err == nil && n == 1
}

// nowhere is where bytes are read to that nobody wants: the same few pages, again and again.
type nowhere struct {
	page [16 << 10]byte
	iov  [maxIovec][]byte
}

// nowheres are used for the time of one look.
type nowheres struct{ pool sync.Pool }

// inMemory says whether n bytes of a file from position are in memory, so that sendfile will not wait for a disk. That a page is cached
// does not say it: one that is being read ahead is, and whoever sends it waits for its read. So they are read, to nowhere: what that
// costs sendfile finds warm. Before that they are looked for, since such a read has the kernel ask the disk for pages that are missing.
func (s *nowheres) inMemory(fd int, position int64, n int) bool {
	if !cached(fd, position, n) {
		return false
	}
	w, ok := s.pool.Get().(*nowhere)
	if !ok {
		w = new(nowhere)
	}
	defer s.pool.Put(w)
	for n > 0 {
		pieces, want := w.iov[:0], 0
		for want < n && len(pieces) < maxIovec {
			pieces = append(pieces, w.page[:min(n-want, len(w.page))])
			want += len(pieces[len(pieces)-1])
		}
		if got, err := unix.Preadv2(fd, pieces, position, unix.RWF_NOWAIT); err != nil || got != want {
			return false
		}
		position += int64(want)
		n -= want
	}
	return true
}

// readAhead has the kernel read n bytes from a position, and as many behind them, in large pieces and at once: sendfile
// would wait for one piece of 64 KiB after the other, and whoever reads a log that is not in memory comes for the next ones
// soon. It is a hint: where it is refused, sendfile reads.
func readAhead(fd int, position int64, n int) {
	_ = unix.Fadvise(fd, position, int64(n), unix.FADV_WILLNEED)
	_ = unix.Fadvise(fd, position+int64(n), int64(n), unix.FADV_WILLNEED)
}
