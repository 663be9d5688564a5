package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Property is one entry of a properties file.
type Property struct {
	Key, Value string
	Line       int // on which it begins, from 1
}

// SyntaxError is a place in a properties file that is none.
type SyntaxError struct {
	File string
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// ParseProperties reads the format of java.util.Properties: keys and values with =, : or space between them, comments
// after # or !, lines that go on after a backslash, and backslash escapes. The text is UTF-8, where Java's is Latin 1.
// Entries come in the order of the file, repeated ones too. file is for messages.
func ParseProperties(file string, data []byte) ([]Property, error) {
	var all []Property
	s := lines{rest: string(data)}
	for {
		text, line, ok := s.logical()
		if !ok {
			return all, nil
		}
		if !utf8.ValidString(text) {
			return nil, &SyntaxError{file, line, "not UTF-8"}
		}
		key, value := splitProperty(text)
		p := Property{Line: line}
		var err error
		if p.Key, err = unescape(key); err == nil {
			p.Value, err = unescape(value)
		}
		if err != nil {
			return nil, &SyntaxError{file, line, err.Error()}
		}
		all = append(all, p)
	}
}

// blanks are what Java takes for space in a line.
const blanks = " \t\f"

// lines splits a text into natural lines, which end with \n, \r or \r\n, and those into logical ones.
type lines struct {
	rest string
	line int // number of the natural line that was last read
}

func (s *lines) natural() (string, bool) {
	if s.rest == "" {
		return "", false
	}
	s.line++
	end := strings.IndexAny(s.rest, "\r\n")
	if end < 0 {
		text := s.rest
		s.rest = ""
		return text, true
	}
	text := s.rest[:end]
	skip := 1
	if strings.HasPrefix(s.rest[end:], "\r\n") {
		skip = 2
	}
	s.rest = s.rest[end+skip:]
	return text, true
}

// logical returns the next line that is neither empty nor a comment, with those that continue it and the number of
// its first natural line. A comment is not continued; a # in a line that continues another begins none.
func (s *lines) logical() (text string, line int, ok bool) {
	for {
		natural, ok := s.natural()
		if !ok {
			return "", 0, false
		}
		natural = strings.TrimLeft(natural, blanks)
		if natural == "" || natural[0] == '#' || natural[0] == '!' {
			continue
		}
		line = s.line
		var b strings.Builder
		for continues(natural) {
			b.WriteString(natural[:len(natural)-1])
			if natural, ok = s.natural(); !ok {
				break
			}
			natural = strings.TrimLeft(natural, blanks)
		}
		b.WriteString(natural)
		return b.String(), line, true
	}
}

// continues is true for a line that ends with an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty splits at the first separator that no backslash stands before. Spaces around = or : belong to neither.
func splitProperty(text string) (key, value string) {
	end := 0
	for end < len(text) && !strings.ContainsRune("=:"+blanks, rune(text[end])) {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return text, ""
	}
	value = strings.TrimLeft(text[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	return text[:end], value
}

// unescape takes the backslashes out of a key or a value.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			break // the file ended in a line that was to go on
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unicodeEscape(s[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// unicodeEscape reads what follows \u, and a second \uXXXX where the first is half of a surrogate pair.
func unicodeEscape(s string) (r rune, n int, err error) {
	high, err := fourHex(s)
	if err != nil {
		return 0, 0, err
	}
	if high < 0xD800 || high > 0xDFFF {
		return high, 4, nil
	}
	if high < 0xDC00 && strings.HasPrefix(s[4:], `\u`) {
		if low, err := fourHex(s[6:]); err == nil && low >= 0xDC00 && low <= 0xDFFF {
			return (high-0xD800)<<10 | (low - 0xDC00) + 0x10000, 10, nil
		}
	}
	return 0, 0, fmt.Errorf(`half a surrogate pair: \u%s`, s[:4])
}

func fourHex(s string) (rune, error) {
	if len(s) >= 4 {
		if n, err := strconv.ParseUint(s[:4], 16, 16); err == nil {
			return rune(n), nil
		}
	}
	return 0, fmt.Errorf(`\u is not followed by four hexadecimal digits`)
}
