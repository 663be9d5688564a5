package checkpoint

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zurau/zurau/engine/fs"
)

// MetaName is the file at the root of a log directory that says whose it is.
const MetaName = "meta.properties"

// Meta says whose a log directory is.
type Meta struct {
	ClusterID   string // visible ASCII
	NodeID      int32
	DirectoryID ID // zero in directories made before Kafka 3.7: give it one and write it back
}

// javaDate is how java.util.Date prints itself, in the comment that Kafka's properties files start with.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// ReadMeta reads meta.properties of the log directory dir. Errors: os.ErrNotExist, ErrCorrupt, or one of the file
// system. Keys that are not Meta's are passed over.
func ReadMeta(fsys fs.FS, dir string) (Meta, error) {
	name := filepath.Join(dir, MetaName)
	b, err := readFile(fsys, name)
	if err != nil {
		return Meta{}, err
	}
	return parseMeta(name, string(b))
}

// WriteMeta replaces meta.properties of the log directory dir; now stands in its comment.
func WriteMeta(fsys fs.FS, dir string, m Meta, now time.Time) error {
	return Replace(fsys, filepath.Join(dir, MetaName), formatMeta(m, now))
}

func formatMeta(m Meta, now time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#%s\n", now.UTC().Format(javaDate))
	fmt.Fprintf(&b, "node.id=%d\n", m.NodeID)
	if m.DirectoryID != (ID{}) {
		fmt.Fprintf(&b, "directory.id=%s\n", FormatID(m.DirectoryID))
	}
	fmt.Fprintf(&b, "version=1\ncluster.id=%s\n", escape(m.ClusterID))
	return []byte(b.String())
}

func parseMeta(name, content string) (Meta, error) {
	var m Meta
	seen := map[string]bool{}
	last := 0
	for i, line := range strings.Split(content, "\n") {
		last = i + 1
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return Meta{}, corrupt(name, last, "%q, expected key=value", clip(line))
		}
		key, value = strings.TrimSpace(key), unescape(strings.TrimSpace(value))
		if err := m.set(key, value); err != nil {
			return Meta{}, corrupt(name, last, "%s: %v", clip(key), err)
		}
		seen[key] = true
	}
	for _, key := range []string{"version", "cluster.id", "node.id"} {
		if !seen[key] {
			return Meta{}, corrupt(name, last, "%s is missing", key)
		}
	}
	return m, nil
}

func (m *Meta) set(key, value string) (err error) {
	switch key {
	case "version":
		if value != "1" {
			err = fmt.Errorf("%q, expected 1", clip(value))
		}
	case "cluster.id":
		if m.ClusterID = value; value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			err = fmt.Errorf("%q is not one or more visible ASCII characters", clip(value))
		}
	case "node.id":
		n, bad := strconv.ParseInt(value, 10, 32)
		if m.NodeID = int32(n); bad != nil || n < 0 {
			err = fmt.Errorf("%q is not a number from 0 to 2147483647", clip(value))
		}
	case "directory.id":
		m.DirectoryID, err = ParseID(value)
	}
	return err
}

// escaped are the characters that a Java properties file writes behind a backslash. Ids have none of them, but a
// cluster id is whatever its operator chose.
const escaped = `\:=#!`

func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(escaped, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
