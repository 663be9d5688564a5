// Package job reads job files in fio's format (fio(1), "Job file format"): sections of keys, [global] for what all later
// sections share. It knows the keys that describe sequential I/O on files, which is what a log does; with them one file
// describes a pattern that fio runs on the device, and the suite on an engine and over the wire.
//
// Keys that would change the pattern and that are not known are errors, as is a value that is not understood: a run that
// silently differs from fio's would be worse than none. Keys says which there are, and what each level makes of it; those
// that only say how fio reports, or how it goes about things that logs do in one way, are ignored.
//
// # What fio has no words for
//
// A comment that starts with "#zurau:" holds keys of our own, for the levels above the device; fio takes it as a comment.
//
//	[consumers-behind-retention]
//	rw=write
//	#zurau: retention=256m segment=64m
//
// # What is not known
//
// include, environment variables, percentages, several values of one key (bs=4k,8k), several file names (a:b), random
// patterns, verification, and profiles.
package job
