package record

// scratch is the memory of a Prepared for batches that have to be looked into or rewritten.
type scratch struct {
	budget int // bytes that this call may still decompress
}
