package uring

import (
	"fmt"
	"strings"
)

// bitNames formats the set bits of v by name, lowest first; bits without a name are given in hex.
func bitNames(v uint32, names []string) string {
	var out []string
	for i, name := range names {
		if bit := uint32(1) << i; v&bit != 0 && name != "" {
			out = append(out, name)
			v &^= bit
		}
	}
	if v != 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, " ")
}

// String returns the kernel's names without their prefix, such as "SINGLE_ISSUER DEFER_TASKRUN".
func (f SetupFlags) String() string {
	return bitNames(uint32(f), []string{"IOPOLL", "SQPOLL", "SQ_AFF", "CQSIZE", "CLAMP", "ATTACH_WQ", "R_DISABLED",
		"SUBMIT_ALL", "COOP_TASKRUN", "TASKRUN_FLAG", "SQE128", "CQE32", "SINGLE_ISSUER", "DEFER_TASKRUN", "NO_MMAP",
		"REGISTERED_FD_ONLY", "NO_SQARRAY", "HYBRID_IOPOLL", "CQE_MIXED"})
}

// String returns the kernel's names without their prefix, such as "NODROP EXT_ARG".
func (f Features) String() string {
	return bitNames(uint32(f), []string{"SINGLE_MMAP", "NODROP", "SUBMIT_STABLE", "RW_CUR_POS", "CUR_PERSONALITY",
		"FAST_POLL", "POLL_32BITS", "SQPOLL_NONFIXED", "EXT_ARG", "NATIVE_WORKERS", "RSRC_TAGS", "CQE_SKIP",
		"LINKED_FILE", "REG_REG_RING", "RECVSEND_BUNDLE", "MIN_TIMEOUT", "RW_ATTR", "NO_IOWAIT"})
}

// String returns the kernel's name in lower case, such as "write_fixed".
func (o Op) String() string {
	names := [...]string{OpNop: "nop", OpReadv: "readv", OpWritev: "writev", OpFsync: "fsync", OpReadFixed: "read_fixed",
		OpWriteFixed: "write_fixed", OpPollAdd: "poll_add", OpPollRemove: "poll_remove", OpSyncFileRange: "sync_file_range",
		OpTimeout: "timeout", OpTimeoutRemove: "timeout_remove", OpAsyncCancel: "async_cancel",
		OpLinkTimeout: "link_timeout", OpFallocate: "fallocate", OpClose: "close", OpRead: "read", OpWrite: "write",
		OpFadvise: "fadvise", OpMsgRing: "msg_ring", OpFtruncate: "ftruncate"}
	if int(o) < len(names) && names[o] != "" {
		return names[o]
	}
	return fmt.Sprintf("op%d", uint8(o))
}
