package checkpoint

import (
	"strconv"
	"strings"
)

// lines walks the body of a version 0 checkpoint: version, count, and one line an entry.
type lines struct {
	name string // of the file, for errors
	rest string
	line int // number of the line that next returned last, from 1
	left int // entries still to come
}

// openLines reads version and count of content. An empty file has no entries.
func openLines(name string, content []byte) (*lines, error) {
	l := &lines{name: name, rest: string(content)}
	if len(content) == 0 {
		return l, nil
	}
	version, err := l.header("version")
	if err != nil {
		return nil, err
	}
	if version != 0 {
		return nil, corrupt(name, l.line, "version %d, expected 0", version)
	}
	count, err := l.header("number of entries")
	if err != nil {
		return nil, err
	}
	// The shortest entry, "0 0" and its newline, has four bytes: a larger count is refused before anyone allocates.
	if count < 0 || count > len(l.rest)/4 {
		return nil, corrupt(name, l.line, "%d entries announced, %d bytes follow", count, len(l.rest))
	}
	l.left = count
	return l, nil
}

// text returns the next line. A last line without its newline is a cut file: "t 0 18" may have been "t 0 180".
func (l *lines) text() (string, error) {
	l.line++
	s, rest, ended := strings.Cut(l.rest, "\n")
	if !ended {
		return "", corrupt(l.name, l.line, "the file ends in the middle of a line")
	}
	l.rest = rest
	return s, nil
}

func (l *lines) header(what string) (int, error) {
	s, err := l.text()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, corrupt(l.name, l.line, "%s is %q", what, clip(s))
	}
	return int(n), nil
}

// next returns the words of the next entry, exactly n, or ok false at the end.
func (l *lines) next(n int) (words []string, ok bool, err error) {
	if l.left == 0 {
		if l.rest != "" {
			return nil, false, corrupt(l.name, l.line+1, "more lines than the announced number of entries")
		}
		return nil, false, nil
	}
	l.left--
	s, err := l.text()
	if err != nil {
		return nil, false, err
	}
	words = strings.Fields(s)
	if len(words) != n {
		return nil, false, corrupt(l.name, l.line, "%d words in %q, expected %d", len(words), clip(s), n)
	}
	return words, true, nil
}

// number parses a decimal number of 0 to 2^(bits-1)-1: no checkpoint holds a negative one.
func (l *lines) number(what, s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil || n < 0 {
		return 0, corrupt(l.name, l.line, "%s is %q", what, clip(s))
	}
	return n, nil
}

// clip keeps garbage from filling an error message.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}

// appendHeader appends the first two lines of a version 0 checkpoint.
func appendHeader(b []byte, entries int) []byte {
	b = append(b, "0\n"...)
	b = strconv.AppendInt(b, int64(entries), 10)
	return append(b, '\n')
}
