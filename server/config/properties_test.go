package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPropertiesAreReadAsJavaReadsThem(t *testing.T) {
	const text = "# a comment that does not go on \\\n" +
		"! another\n" +
		"  \t\n" +
		"a=1\n" +
		"b : 2\r\n" +
		"c 3\r" +
		"\td\t=  4 = four  \n" +
		"list = one,\\\n" +
		"       two,\\\n" +
		"       # three\n" +
		"path=C:\\\\kafka\\\\logs\\\\\n" +
		"tab=a\\tb\\nc\\rd\\fe\n" +
		"uni=\\u00e4\\uD83D\\ude00ö\n" +
		"es\\=ca\\:p\\ ed=\\q\n" +
		"empty\n" +
		"also.empty=\n" +
		"=no key\n" +
		"a=2\n" +
		"last=open\\"
	got, err := ParseProperties("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Property{
		{"a", "1", 4}, {"b", "2", 5}, {"c", "3", 6}, {"d", "4 = four  ", 7}, {"list", "one,two,# three", 8},
		{"path", `C:\kafka\logs\`, 11}, {"tab", "a\tb\nc\rd\fe", 12}, {"uni", "ä😀ö", 13}, {"es=ca:p ed", "q", 14},
		{"empty", "", 15}, {"also.empty", "", 16}, {"", "no key", 17}, {"a", "2", 18}, {"last", "open", 19},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestABadFileNamesTheLine(t *testing.T) {
	for text, line := range map[string]int{
		"a=1\n\nb=\\u12":           3,
		"a=\\ud83d":                1,
		"a=1\\\n2\nb=\\uzzzz":      3,
		"x=\xff":                   1,
		"# \xff in a comment\na=1": 0,
	} {
		_, err := ParseProperties("server.properties", []byte(text))
		var syntax *SyntaxError
		if line == 0 {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if !errors.As(err, &syntax) || syntax.Line != line ||
			!strings.HasPrefix(err.Error(), fmt.Sprintf("server.properties:%d: ", line)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// escape writes a string so that a properties file reads as it.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\f", `\f`, "=", `\=`, ":", `\:`, "#", `\#`,
		"!", `\!`).Replace(s)
}

func FuzzParseProperties(f *testing.F) {
	for _, s := range []string{"a=b", "a:b\\\n c", "\\u0041 = x", "#c\n\n", "a\\", "\r\n=\r", "k=\\ud800\\udc00", " \f!x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseProperties("f", data)
		if err != nil {
			return
		}
		var b strings.Builder
		last, written := 0, 0 // lines
		for _, p := range all {
			if p.Line <= last || p.Line > 1+strings.Count(string(data), "\n")+strings.Count(string(data), "\r") {
				t.Fatalf("%q is on line %d after %d", p.Key, p.Line, last)
			}
			last = p.Line
			b.WriteString(strings.Repeat("\n", p.Line-1-written) + escape(p.Key) + "=" + escape(p.Value) + "\n")
			written = p.Line
		}
		again, err := ParseProperties("f", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all, again); d != "" {
			t.Fatalf("written and read again: %s", d)
		}
	})
}
