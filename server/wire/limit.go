package wire

// maxBody is the largest request that is decoded into a structure, in bytes. An element of an array can be 2 bytes of a
// request and 50 of memory, and the array is made at the length that the request claims, so a structure takes up to 32 times
// the request's size: 256 MiB here, where Kafka's limit of a frame, 100 MiB, would be gigabytes. Ordinary requests have
// some kilobytes; a leader's SyncGroup for 10,000 members, or a Metadata that names 100,000 topics, some megabytes.
//
// Handlers that overlap, Produce and Fetch, read their requests in place and have limits of their own.
const maxBody = 8 << 20

// inlineBody is the size in bytes from which a request is not decoded on an event loop, and not at the same time as another
// large one, so that the memory above is taken once.
const inlineBody = 64 << 10
