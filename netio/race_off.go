//go:build !race

package netio

// raceEnabled is true in builds with the race detector, where slots are not used again.
const raceEnabled = false
