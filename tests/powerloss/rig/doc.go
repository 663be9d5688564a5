// Package rig is what tests of power losses stand on: a mount namespace of their own, file systems on loop devices in it, and the power that
// is taken away from them.
//
// The shutdown of a file system cannot be undone, and that of / would end the machine. So nothing here touches a mount that
// is not the rig's own: Machine.Cut and all that attaches a loop device ask own (guard.go) first, which wants the source of a mount to be a
// loop device, its backing file to be below the rig's folder, and the open folder to be on that device.
//
// Main runs the tests of a package in a process with a private mount namespace, where a tmpfs holds all images. Whatever way that process
// ends, the namespace and its mounts go with it, and loop devices detach themselves with the last user; Main looks whether they did.
package rig
