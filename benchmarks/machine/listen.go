package machine

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Listener returns the process of this machine that listens on a TCP address, or 0: it runs elsewhere, or as a user whose
// descriptors are not to be seen.
func Listener(addr netip.AddrPort) int {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		if inode := listening(string(b), addr.Port()); inode != "" {
			return ownerOf("socket:[" + inode + "]")
		}
	}
	return 0
}

// listening finds the inode of a listening socket by its port in the text of proc_net_tcp(5). The address is not compared:
// one port of one machine belongs to one broker, whichever of its addresses it is reached by.
func listening(table string, port uint16) string {
	const listen = "0A"
	want := fmt.Sprintf("%04X", port)
	for l := range strings.Lines(table) {
		//   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
		f := strings.Fields(l)
		if len(f) < 10 || f[3] != listen {
			continue
		}
		if _, p, ok := strings.Cut(f[1], ":"); ok && p == want {
			return f[9]
		}
	}
	return ""
}

func ownerOf(socket string) int {
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == socket {
			pid, _ := strconv.Atoi(strings.Split(fd, "/")[2])
			return pid
		}
	}
	return 0
}
