package server

import (
	"math"

	"golang.org/x/sys/unix"
)

// connectionLimit returns how many connections may be open, 0 for any number: what max.connections says, but one at least, for
// whoever is to change it, and half of the descriptors that the process may have at most. The other half is the logs': one that
// cannot open its next segment takes the whole directory offline, and clients must not be able to bring that about by connecting.
func connectionLimit(configured int32) int {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		files.Cur = math.MaxUint64
	}
	return connectionsWithin(configured, files.Cur)
}

// connectionsWithin is connectionLimit where the process may have so many descriptors.
func connectionsWithin(configured int32, files uint64) int {
	half := max(files/2, 1)
	configured = max(configured, 1)
	switch {
	case uint64(configured) <= half:
		return limitOf(configured)
	case half >= math.MaxInt32:
		return 0
	}
	return int(half)
}

// logDescriptors returns how many files each of n engines keeps open for logs that are not at work: their part of what one would
// choose. 0 is its choice.
func logDescriptors(n int) int {
	var files unix.Rlimit
	if n == 1 || unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return 0
	}
	return max(int(min(files.Cur/4, 4096))/n, 16)
}
