package suite

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zurau/zurau/server"
	"github.com/zurau/zurau/server/config"
)

// serveUntilTerm runs a broker until SIGTERM and returns its exit status.
func serveUntilTerm(static *config.Static) int {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	s, err := server.Start(context.Background(), server.Options{Config: static})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("ready %s\n", s.Addrs()[0])
	<-end
	if err := s.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
