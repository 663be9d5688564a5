package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Listener is an address that a broker listens on or is known by.
type Listener struct {
	Name     string // in capitals
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Host     string // "" is every address
	Port     int    // 0 is any free one
}

// Addr is HOST:PORT, with brackets around a host that has colons.
func (l Listener) Addr() string {
	if strings.Contains(l.Host, ":") {
		return fmt.Sprintf("[%s]:%d", l.Host, l.Port)
	}
	return fmt.Sprintf("%s:%d", l.Host, l.Port)
}

var (
	securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}
	listenerForm      = regexp.MustCompile(`^([A-Za-z0-9_.-]+)://(?:\[([0-9A-Fa-f:.%a-zA-Z]*)\]|([^\[\]:/\s]*)):(\d{1,5})$`)
)

// ParseListeners reads listeners or advertised.listeners. protocols is the value of listener.security.protocol.map. Names
// and ports are different, but for a port that one listener has on an IPv4 address and another of IPv6; advertised
// addresses may share a port.
func ParseListeners(list []string, protocols string, advertised bool) ([]Listener, error) {
	byName, err := protocolMap(protocols)
	if err != nil {
		return nil, err
	}
	var all []Listener
	for _, s := range list {
		m := listenerForm.FindStringSubmatch(s)
		if m == nil {
			return nil, fmt.Errorf("%q is not NAME://HOST:PORT", s)
		}
		port, _ := strconv.Atoi(m[4])
		l := Listener{Name: strings.ToUpper(m[1]), Host: m[2] + m[3], Port: port}
		if port > 65535 {
			return nil, fmt.Errorf("%q has a port above 65535", s)
		}
		if l.Protocol = byName[l.Name]; l.Protocol == "" {
			return nil, fmt.Errorf("listener.security.protocol.map has no protocol for %s", l.Name)
		}
		if err := unlike(all, l, advertised); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// unlike refuses a listener that has a name or a port of an earlier one.
func unlike(all []Listener, l Listener, advertised bool) error {
	for _, other := range all {
		if other.Name == l.Name {
			return fmt.Errorf("there are two listeners %s", l.Name)
		}
		if advertised || l.Port == 0 || other.Port != l.Port {
			continue
		}
		a, errA := netip.ParseAddr(l.Host)
		b, errB := netip.ParseAddr(other.Host)
		if errA != nil || errB != nil || a.Is4() == b.Is4() {
			return fmt.Errorf("%s and %s are both on port %d", other.Name, l.Name, l.Port)
		}
	}
	return nil
}

// protocolMap reads listener.security.protocol.map. Names that are protocols need no entry.
func protocolMap(value string) (map[string]string, error) {
	m := map[string]string{}
	for _, p := range securityProtocols {
		m[p] = p
	}
	for _, s := range splitList(trim(value)) {
		name, protocol, ok := strings.Cut(s, ":")
		protocol = strings.ToUpper(trim(protocol))
		if !ok || !slices.Contains(securityProtocols, protocol) {
			return nil, fmt.Errorf("%q in listener.security.protocol.map is not NAME:PROTOCOL with one of %s", s,
				strings.Join(securityProtocols, ", "))
		}
		m[strings.ToUpper(trim(name))] = protocol
	}
	return m, nil
}

// listeners checks the listeners, and that the brokers' own is one of them.
func (c *checker) listeners() {
	protocols := c.Text("listener.security.protocol.map")
	if _, err := protocolMap(protocols); err != nil {
		c.add("listener.security.protocol.map", "%v", err)
		return
	}
	all, err := ParseListeners(c.List("listeners"), protocols, false)
	if err != nil {
		c.add("listeners", "NAME://HOST:PORT,...: %v", err)
		return
	}
	advertised, err := ParseListeners(c.List("advertised.listeners"), protocols, true)
	if err != nil {
		c.add("advertised.listeners", "NAME://HOST:PORT,...: %v", err)
		return
	}
	for _, a := range advertised {
		if !slices.ContainsFunc(all, func(l Listener) bool { return l.Name == a.Name }) {
			c.add("advertised.listeners", "names of listeners, which have no %s", a.Name)
		}
		if a.Host == "0.0.0.0" || a.Host == "::" {
			c.add("advertised.listeners", "addresses that can be connected to, not %s", a.Host)
		}
	}
	name := strings.ToUpper(c.Text("inter.broker.listener.name"))
	if name != "" && c.isSet("security.inter.broker.protocol") {
		c.add("inter.broker.listener.name", "to be alone, without security.inter.broker.protocol")
	}
	if name != "" && !slices.ContainsFunc(all, func(l Listener) bool { return l.Name == name }) {
		c.add("inter.broker.listener.name", "the name of one of listeners")
	}
}
