package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows on standard error how far a long work is. A nil one shows nothing.
type progress struct {
	bar     *progressbar.ProgressBar
	done    int64
	began   time.Time
	visible bool
}

// progressDelay is how long work has to last before it is called long.
const progressDelay = time.Second

// newProgress returns a progress over a total of units, -1 where that is not known; nil where nobody is at the terminal.
func newProgress(what, unit string, total int64) *progress {
	if !term.IsTerminal(int(os.Stderr.Fd())) || total == 0 {
		return nil
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(unit == "bytes"),
		progressbar.OptionSetItsString(unit),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	)
	return &progress{bar: bar, began: time.Now()}
}

// add says that n more bytes are done. It is cheap before the work is long, and throttled then.
func (p *progress) add(n int64) {
	if p == nil {
		return
	}
	p.done += n
	if p.visible || time.Since(p.began) > progressDelay {
		p.visible = true
		_ = p.bar.Set64(p.done) // a bar that cannot be drawn is no reason to stop
	}
}

// set says that n bytes are done.
func (p *progress) set(n int64) {
	if p != nil {
		p.add(n - p.done)
	}
}

// clear takes the bar away.
func (p *progress) clear() {
	if p != nil && p.visible {
		_ = p.bar.Clear()
		p.visible = false
	}
}
