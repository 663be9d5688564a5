package results

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Printer writes the parts of a report as text or Markdown.
type Printer struct {
	W        io.Writer
	Markdown bool
}

// Title writes a heading.
func (p Printer) Title(s string) {
	if p.Markdown {
		s = "### " + s
	}
	fmt.Fprintf(p.W, "%s\n\n", s)
}

// Note writes a paragraph.
func (p Printer) Note(s string) { fmt.Fprintf(p.W, "%s\n\n", s) }

// Table writes lines of cells, the first of which is the head; nothing where that is all. Columns are aligned in
// Markdown too, for who reads it as it is.
func (p Printer) Table(t [][]string) {
	if len(t) == 1 {
		fmt.Fprint(p.W, "Nothing was measured.\n\n")
		return
	}
	widths := make([]int, len(t[0]))
	for _, l := range t {
		for i, c := range l {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	edge, between := "", "  "
	if p.Markdown {
		edge, between = "|", " | "
	}
	for n, l := range t {
		padded := make([]string, len(l))
		for i, c := range l {
			padded[i] = c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		}
		s := strings.Join(padded, between)
		if p.Markdown {
			s = edge + " " + s + " " + edge
		}
		fmt.Fprintln(p.W, strings.TrimRight(s, " "))
		if n == 0 && p.Markdown {
			fmt.Fprintln(p.W, edge+strings.Repeat("---"+edge, len(l)))
		}
	}
	fmt.Fprintln(p.W)
}
