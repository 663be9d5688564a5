module github.com/zurau/zurau/benchmarks/giouring

go 1.26.8

require (
	github.com/pawelgaczynski/giouring v0.0.0-20230826085535-69588b89acb9
	github.com/zurau/zurau v0.0.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/twmb/franz-go v1.22.3 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.15.1 // indirect
)

replace github.com/zurau/zurau => ../..
