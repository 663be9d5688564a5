module github.com/zurau/zurau/uring/giouringcheck

go 1.26.8

require (
	github.com/pawelgaczynski/giouring v0.0.0-20230826085535-69588b89acb9
	github.com/zurau/zurau v0.0.0
	golang.org/x/sys v0.50.0
)

replace github.com/zurau/zurau => ../..
