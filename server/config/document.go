package config

import (
	"fmt"
	"io"
	"strings"
)

// Document writes all keys as Markdown: a table for each kind, a broker's keys divided into zurau's own, those it acts
// on, and those it does not.
func Document(w io.Writer) error {
	d := document{w: w}
	d.line("# Configuration\n")
	d.line("A broker reads `server.properties`, then the environment (`ZURAU_LOG_RETENTION_HOURS` is `log.retention.hours`:")
	d.line("capitals, `_` for a dot, `__` for an underscore, `___` for a dash), then `--set KEY=VALUE`; the last one that has a")
	d.line("key wins. Unknown keys are named in a warning; a bad value stops the start. Changes: *read-only* keys need a restart,")
	d.line("*per-broker* keys change on one running broker, *cluster-wide* ones on one or on all. Keys of topics, groups and client")
	d.line("metrics subscriptions always change at once.")
	d.section("Keys of a topic", KindTopic, func(*Key) bool { return true })
	d.section("zurau's own keys of a broker", KindBroker, func(k *Key) bool { return strings.HasPrefix(k.Name, "zurau.") })
	d.section("Keys of a broker", KindBroker, func(k *Key) bool {
		return k.Supported() && !strings.HasPrefix(k.Name, "zurau.")
	})
	d.section("Keys of a broker without effect", KindBroker, func(k *Key) bool { return !k.Supported() })
	d.section("Keys of a group", KindGroup, func(*Key) bool { return true })
	d.section("Keys of a client metrics subscription", KindClientMetrics, func(*Key) bool { return true })
	return d.err
}

// document keeps the first error of a writer.
type document struct {
	w   io.Writer
	err error
}

func (d *document) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

func (d *document) section(title string, kind Kind, in func(*Key) bool) {
	d.line("\n## %s\n", title)
	last := "changes"
	if kind != KindBroker {
		last = "broker's key"
	}
	d.line("| key | type | default | allowed | %s | what it does |", last)
	d.line("|---|---|---|---|---|---|")
	for i := range Keys(kind) {
		if k := &Keys(kind)[i]; in(k) {
			d.key(kind, k)
		}
	}
}

func (d *document) key(kind Kind, k *Key) {
	last := k.Mode.String()
	if kind != KindBroker {
		last = code(k.Broker)
	}
	allowed := ""
	if k.Limit != nil {
		allowed = k.Limit.String()
	}
	value := "none"
	if k.HasDefault() {
		value = code(k.Default)
	}
	d.line("| %s | %s | %s | %s | %s | %s |", code(k.Name), k.Type, value, cell(allowed), last, cell(k.Documentation()))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
