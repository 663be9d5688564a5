// Package machine says what a benchmark's figures depend on beside what is measured: facts of the host and of the disk that
// a folder is on, what a process used, and what the rest of the machine did meanwhile. It reads /proc and /sys (proc(5),
// the kernel's Documentation/block/queue-sysfs.rst) and changes nothing.
//
// Seconds are CPU seconds where they are about processes; MB of memory are MiB. What the kernel does not tell is empty or 0.
package machine
