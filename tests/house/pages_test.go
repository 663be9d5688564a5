package house

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zurau/zurau/server/config"
)

var update = flag.Bool("update", false, "write CONFIG.md instead of comparing it")

// root is the top of the tree, as seen from this package.
const root = "../.."

func TestTheConfigPageIsCurrent(t *testing.T) {
	var want bytes.Buffer
	if err := config.Document(&want); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "CONFIG.md")
	if *update {
		if err := os.WriteFile(name, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("CONFIG.md is not what the table of keys says: go generate ./tests/house")
	}
}

// link is a Markdown link to a file of the tree.
var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestThePagesPointAtFilesThatExist(t *testing.T) {
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// named is a test, fuzz target or example that a page names in code quotes.
var named = regexp.MustCompile("`((?:Test|Fuzz|Example|Benchmark)[A-Z_]\\w*)`")

func TestTheTestsThatThePagesNameExist(t *testing.T) {
	there := functions(t)
	for _, page := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(read(t, page), -1) {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is not in the tree", page, m[1])
			}
		}
	}
}

// program is a Go program of a page.
var program = regexp.MustCompile("(?s)```go\n(.*?)```")

func TestTheProgramsOfTheReadmeAreCompiledAsTheyStand(t *testing.T) {
	examples := flat(read(t, "tests/embed/example_test.go"))
	found := program.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(found) == 0 {
		t.Error("README.md has no program")
	}
	for _, m := range found {
		if !strings.Contains(examples, flat(m[1])) {
			t.Errorf("not in tests/embed:\n%s", m[1])
		}
	}
}

// flat takes the indentation off the lines of a program, and lines that have nothing else.
func flat(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil || len(all) == 0 {
		t.Fatal("no pages at the root", err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return all
}

func read(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// functions returns the names of the functions in all test files of the tree.
func functions(t *testing.T) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				there[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
