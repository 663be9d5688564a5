package house

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zurau/zurau/"

// A floor is a part of the house: which of the project's other parts it may import, and what it may never import.
type floor struct {
	path string
	may  []string
	// never are packages outside the project, by prefix.
	never []string
}

// floors are in the order in which a package is looked for: the first whose path is its prefix is its own.
var floors = []floor{
	{"uring", nil, []string{"net", "log", "flag"}},
	{"netio", nil, []string{"github.com/twmb", "flag"}},
	{"engine/record", nil, engineNever},
	{"engine/producer", []string{"engine/record"}, engineNever},
	{"engine/fs", []string{"uring"}, engineNever},
	{"engine/index", []string{"engine/fs"}, engineNever},
	{"engine/guard", []string{"engine/fs"}, engineNever},
	{"engine/checkpoint", []string{"engine/fs"}, engineNever},
	{"engine/segment", []string{"engine/fs", "engine/index", "engine/record"}, engineNever},
	{"engine", []string{"engine", "uring"}, engineNever},
	{"replication", []string{"engine", "replication"}, []string{"net", "github.com/panjf2000", "github.com/twmb", "flag"}},
	{"server/config", nil, []string{"github.com/twmb", "flag"}},
	{"server/group", []string{"engine/record"}, []string{"net", "os", "flag"}},
	{"server/logdir", []string{"engine", "replication"}, []string{"net", "github.com/twmb", "flag"}},
	{"server/partition", []string{"engine", "replication", "server/config", "server/logdir"}, []string{"net", "github.com/twmb", "flag"}},
	{"server/offsets", []string{"engine", "replication", "server/config", "server/group", "server/partition"}, []string{"net", "flag"}},
	{"server/wire", []string{"netio"}, []string{"flag"}},
	{"server/metrics", []string{"engine", "netio", "replication", "server/api", "server/logdir", "server/partition", "server/wire"}, []string{"flag"}},
	{"server/control", []string{"engine"}, []string{"github.com/twmb", "flag"}},
	{"server/api", []string{"engine", "netio", "replication", "server"}, []string{"net", "flag"}},
	{"server", []string{"engine", "netio", "replication", "server", "uring"}, []string{"flag"}},
	{"tools", []string{"benchmarks", "engine", "replication", "server", "tools"}, nil},
	{"benchmarks", []string{"engine", "server", "uring", "netio", "benchmarks", "replication"}, nil},
	{"tests", []string{"tests", "engine", "server"}, nil},
}

// engineNever keeps the engine embeddable: no network, no protocol, no flags, no metrics registry, no global logger.
var engineNever = []string{"net", "flag", "log", "github.com/panjf2000", "github.com/twmb", "github.com/prometheus", "github.com/spf13"}

// A pkg is what the go command says of a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

// packages lists the module's packages with what their code, tests left out, imports.
func packages(t *testing.T) []pkg {
	t.Helper()
	// -e: a package that does not compile is its own test's failure.
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// under reports whether a package is the one at path or inside it.
func under(name, path string) bool {
	return name == path || strings.HasPrefix(name, path+"/")
}

func floorOf(name string) *floor {
	for i := range floors {
		if under(name, floors[i].path) {
			return &floors[i]
		}
	}
	return nil
}

// violations returns what a package imports and may not.
func violations(name string, imports []string) []string {
	f := floorOf(name)
	if f == nil {
		return []string{"is on no floor: add it to floors and to ARCHITECTURE.md"}
	}
	var bad []string
	for _, i := range imports {
		own, ours := strings.CutPrefix(i, module)
		in := func(path string) bool { return under(own, path) }
		switch {
		case ours && !under(own, f.path) && !slices.ContainsFunc(f.may, in):
			bad = append(bad, "imports "+own)
		case !ours && slices.ContainsFunc(f.never, func(path string) bool { return forbidden(i, path) }):
			bad = append(bad, "imports "+i)
		}
	}
	return bad
}

// forbidden reports whether a package is one that a floor must not import. net stands for sockets: net/netip has none.
// log is the global logger: log/slog is a field of options.
func forbidden(name, path string) bool {
	switch path {
	case "net":
		return under(name, path) && name != "net/netip"
	case "log", "os":
		return name == path
	}
	return under(name, path)
}

func TestArrowsBetweenRoomsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		for _, v := range violations(name, p.Imports) {
			t.Errorf("%s %s", name, v)
		}
	}
}

func TestAnArrowThatPointsUpIsFound(t *testing.T) {
	for _, c := range []struct {
		name, imports string
		want          int
	}{
		{"engine", module + "server/config", 1},
		{"engine", module + "netio", 1},
		{"engine", "net", 1},
		{"engine", "log", 1},
		{"engine", "log/slog", 0},
		{"engine/record", module + "engine/fs", 1},
		{"uring", module + "engine/fs", 1},
		{"netio", "net", 0},
		{"server/config", "net/netip", 0},
		{"server/wire", module + "engine", 1},
		{"server/api", module + "engine/record", 0},
		{"attic", "fmt", 1},
	} {
		if got := violations(c.name, []string{c.imports}); len(got) != c.want {
			t.Errorf("%s importing %s: %q, want %d", c.name, c.imports, got, c.want)
		}
	}
}
