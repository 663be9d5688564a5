package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	defaultBroker = "127.0.0.1:9092"
	defaultPort   = "9092"
)

// brokerFlags are those of every command that talks to a broker.
type brokerFlags struct {
	bootstrap []string
	timeout   time.Duration
	json      bool
}

func (f *brokerFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.bootstrap, "bootstrap-server", "b", []string{defaultBroker}, "`HOST:PORT,...` of brokers to ask first")
	c.Flags().Lookup("bootstrap-server").DefValue = defaultBroker // without the brackets of a list
	c.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for an answer")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON, one object a line")
}

// seeds returns the addresses, each with a port.
func (f *brokerFlags) seeds() ([]string, error) {
	if f.timeout <= 0 {
		return nil, usagef("--timeout %v: want more than 0", f.timeout)
	}
	var seeds []string
	for _, s := range f.bootstrap {
		host, port, err := net.SplitHostPort(s)
		if err != nil && s != "" && !strings.HasSuffix(s, ":") {
			host, port, err = net.SplitHostPort(s + ":" + defaultPort)
		}
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || perr != nil || n == 0 {
			return nil, usagef("--bootstrap-server %q: want HOST:PORT", s)
		}
		seeds = append(seeds, net.JoinHostPort(host, port))
	}
	if len(seeds) == 0 {
		return nil, usagef("--bootstrap-server is empty: want HOST:PORT,...")
	}
	return seeds, nil
}

// badFlag says of a flag's value what was expected, where pflag says how it failed to parse it.
func badFlag(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usageError{err}
	}
	want := "a " + bad.GetFlag().Value.Type()
	switch kind := bad.GetFlag().Value.Type(); {
	case kind == "duration":
		want = "a duration such as 500ms, 30s or 2m"
	case kind == "int32Slice":
		want = "whole numbers, N,..."
	case strings.HasPrefix(kind, "int"):
		want = "a whole number"
	}
	if errors.Is(err, strconv.ErrRange) {
		want += " that is nearer to 0"
	}
	return usagef("--%s %q: want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// pair is KEY=VALUE of a flag.
type pair struct{ key, value string }

// pairs splits the values of a flag at their first "=".
func pairs(flag string, values []string) ([]pair, error) {
	var all []pair
	for _, given := range values {
		k, v, ok := strings.Cut(given, "=")
		if !ok || k == "" {
			return nil, usagef("--%s %q: want KEY=VALUE", flag, given)
		}
		all = append(all, pair{k, v})
	}
	return all, nil
}

// plural returns "1 record", "2 records".
func plural[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped returns n with its thousands separated.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n < 0 {
		return "-" + grouped(-n)
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size returns bytes as people say them.
func size(n int64) string {
	f, units := float64(n), "kMGTPE"
	if n < 1000 {
		return plural(n, "byte")
	}
	i := -1
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %cB", f, units[i])
}

// unescape resolves \t, \n, \r, \0, \\, \e and \xHH, which shells pass on as they are.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("it ends in a single \\")
		}
		switch c := s[i]; c {
		case 'n', 't', 'r', '0', 'e', '\\':
			b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '0': 0, 'e': 27, '\\': '\\'}[c])
		case 'x':
			n, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				return "", fmt.Errorf("\\x wants two hexadecimal digits")
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			return "", fmt.Errorf("unknown escape \\%c: there are \\n \\t \\r \\0 \\e \\\\ and \\xHH", c)
		}
	}
	return b.String(), nil
}
