// Package disk is a disk with a volatile write cache, in user space: a file over FUSE that a loop device makes a block
// device of, for file systems that are to lose their power.
//
//	file system          ext4, XFS
//	loop device          /dev/loopN
//	mount/disk           Mount: reads, writes and flushes arrive in a process
//	Cache                every version of every sector since the last flush
//	image                what is on stable storage
//
// A write is answered when the Cache has it. A flush makes the newest version of everything durable. A power cut (Cut)
// lands what a disk may have come to: for each sector of 512 bytes any of the versions that wait, or none, by Policy and seed. A sector is
// landed whole or not at all, which is all that file systems and the engine ask of a device.
//
// The disk is to be a process of its own (Serve), which a Disk controls: whoever waits for it in the kernel could
// otherwise never be killed. Stall and Fail make it slow or bad.
package disk
