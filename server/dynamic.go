package server

import (
	"context"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zurau/zurau/netio"
	"github.com/zurau/zurau/replication/metadata"
	"github.com/zurau/zurau/server/config"
)

// What a running broker can be told, beside the configs of topics, which package partition follows.
type dynamic struct {
	sync.Mutex
	generation int            // of the limits; a look-up of names that ends later than the next change has no effect
	lookUps    sync.WaitGroup // of names
}

// followConfig brings changes of the broker's configuration into force, before they are answered.
func (s *Server) followConfig() {
	s.meta.Subscribe(func(_, _ *metadata.Image, d metadata.Delta) {
		if slices.ContainsFunc(d.Configs, func(r metadata.Resource) bool { return r.Type == metadata.ResourceBroker }) {
			s.reconfigure()
		}
	})
	s.reconfigure()
}

// reconfigure has the configuration of the newest image in force.
func (s *Server) reconfigure() {
	s.dynamic.Lock()
	defer s.dynamic.Unlock()
	layers := s.broker.Layers()
	limits, names := connectionLimits(layers)
	s.net.SetLimits(limits)
	for _, d := range s.dirs.All() {
		if e := d.Engine(); e != nil {
			e.SetProducerIDExpiration(time.Duration(layers.Int("producer.id.expiration.ms")) * time.Millisecond)
		}
	}
	s.dynamic.generation++
	if len(names) > 0 {
		generation := s.dynamic.generation
		s.dynamic.lookUps.Go(func() { s.limitNames(generation, limits, names) })
	}
}

// limitNames looks the addresses of names up, and gives them their limits.
func (s *Server) limitNames(generation int, limits netio.Limits, names map[string]int) {
	ctx, cancel := context.WithTimeout(s.broker.Stop, 10*time.Second)
	defer cancel()
	limits.ByIP = maps.Clone(limits.ByIP) // the other is in use
	for name, limit := range names {
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			s.log.Warn("a host of max.connections.per.ip.overrides has no limit of its own", "host", name, "error", err)
		}
		for _, ip := range all {
			limits.ByIP[ip.Unmap()] = limit
		}
	}
	s.dynamic.Lock()
	defer s.dynamic.Unlock()
	if s.dynamic.generation == generation {
		s.net.SetLimits(limits)
	}
}

// connectionLimits returns the limits of addresses, and by name those of hosts that are to be looked up.
func connectionLimits(l config.Layers) (netio.Limits, map[string]int) {
	n := l.Broker().Network
	limits := netio.Limits{
		Connections: connectionLimit(n.MaxConnections),
		PerListener: map[string]int{},
		PerIP:       limitOf(n.MaxConnectionsPerIP),
		ByIP:        map[netip.Addr]int{},
		PerSecond:   max(limitOf(n.MaxConnectionsRate), 0),
	}
	if n.MaxConnectionsRate == 0 {
		limits.PerSecond = 1 // else nobody could come to change it
	}
	for _, at := range n.Listeners {
		own := l.Int("listener.name." + strings.ToLower(at.Name) + ".max.connections")
		limits.PerListener[at.Name] = limitOf(max(own, 1))
	}
	names := map[string]int{}
	for host, count := range n.MaxConnectionsByHost {
		if ip, err := netip.ParseAddr(host); err == nil {
			limits.ByIP[ip.Unmap()] = limitOf(count)
		} else {
			names[host] = limitOf(count)
		}
	}
	return limits, names
}

// limitOf says in netio's words what Kafka says in its: none is 0 there, and the greatest number is no limit.
func limitOf(n int32) int {
	switch n {
	case 0:
		return -1
	case math.MaxInt32:
		return 0
	}
	return int(n)
}
