package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"
)

// output is standard output. Its first error stays: later writes do nothing and return it.
type output struct {
	*bufio.Writer
	json *json.Encoder
}

// outputBytes lets a long output go in few large writes.
const outputBytes = 256 << 10

func newOutput(w io.Writer) *output {
	o := &output{Writer: bufio.NewWriterSize(w, outputBytes)}
	o.json = json.NewEncoder(o.Writer)
	o.json.SetEscapeHTML(false)
	return o
}

// object prints one JSON object and a newline.
func (o *output) object(v any) error { return o.json.Encode(v) }

// done flushes and returns the first error of the output, joined to err.
func (o *output) done(err error) error {
	if ferr := o.Flush(); ferr != nil && !errors.Is(err, ferr) { // a write may have met it already
		err = errors.Join(err, fmt.Errorf("write standard output: %w", ferr))
	}
	return err
}

// table prints rows with aligned columns; the first row is the heading. Columns that hold numbers are aligned right.
func (o *output) table(indent string, rows [][]string) {
	widths, numbers := map[int]int{}, map[int]bool{}
	for r, row := range rows {
		for c, cell := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
			if r > 0 {
				numbers[c] = (numbers[c] || r == 1) && strings.Trim(cell, "0123456789,-.") == ""
			}
		}
	}
	for _, row := range rows {
		line := indent
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
			if numbers[c] {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		o.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// brokenPipe reports whether the reader of standard output went away.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// catchBrokenPipe makes a write to a reader that went away an error (EPIPE), so that a command can leave its group and
// commit before it dies of the signal (dieOfBrokenPipe). Without it, Go lets the process die in the write.
func catchBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// dieOfBrokenPipe ends the process as the write would have without catchBrokenPipe.
func dieOfBrokenPipe() {
	signal.Reset(syscall.SIGPIPE)
	_, _ = os.Stdout.Write([]byte{'\n'})
	os.Exit(exitFailed) // where it is not standard output that broke
}
