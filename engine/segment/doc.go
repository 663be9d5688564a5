// Package segment is one segment of a log: its log file, its offset and time index, and the descriptors that writers
// and readers use.
//
//	<base offset, 20 digits>.log         record batches, one after the other
//	<base offset, 20 digits>.index       see package index
//	<base offset, 20 digits>.timeindex   see package index
//
// A segment knows nothing of flush modes, of acknowledgements or of other segments: it turns offsets into positions and
// positions into bytes. Positions are bytes in the log file.
//
// Who may call what: one owner (the log, under its lock) calls Note, which accounts for an appended batch; one writer
// at a time (see engine) writes the file and calls Extend; anybody may read below Size. Files are opened on first use,
// writers and readers have a descriptor each, and a segment that was removed keeps its readers' descriptor until
// the last of them is done.
package segment
