package netio

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var pageSize = uint64(os.Getpagesize())

// noCachestat is set once the kernel has said that it has no cachestat (before 6.5, or a seccomp filter): a fact about
// the process's kernel, not state of ours.
var noCachestat atomic.Bool

// resident says whether n bytes of a file from position are in the page cache, so that sendfile will not wait for a
// disk. An error of the question counts as no.
func resident(fd int, position int64, n int) bool {
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

// readAhead has the kernel read n bytes from a position, and as many behind them, in large pieces and at once: sendfile
// would wait for one piece of 64 KiB after the other, and whoever reads a log that is not in memory comes for the next ones
// soon. It is a hint: where it is refused, sendfile reads.
func readAhead(fd int, position int64, n int) {
	_ = unix.Fadvise(fd, position, int64(n), unix.FADV_WILLNEED)
	_ = unix.Fadvise(fd, position+int64(n), int64(n), unix.FADV_WILLNEED)
}
