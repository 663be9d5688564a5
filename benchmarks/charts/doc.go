// Command charts draws what results files hold, as SVG and PNG: throughput against latency, CPU for each GB, growth, and the course of
// latency over its percentiles. It is what zurau bench plot runs:
//
//	charts [-out DIR] FILE.jsonl...
//
// It is a module of its own because the library that draws brings fonts along, which a broker would carry for nothing: 9 MB of its file and 4 MB
// of its memory.
package main
