// Package house checks the house itself: that imports between its rooms go the way that ARCHITECTURE.md draws them, and
// that the pages at the root say what the code says.
//
// CONFIG.md is written from the table of keys:
//
//	go generate ./tests/house
package house

//go:generate go test -run TestTheConfigPageIsCurrent -update
