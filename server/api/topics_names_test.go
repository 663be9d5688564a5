package api

import (
	"path/filepath"
	"regexp"
	"testing"
)

func TestNamesCollideWhenTheyDifferByDotsAndUnderscores(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("a.b", 1, 1), newTopic("_x", 1, 1), newTopic("plain", 1, 1), newTopic("a.b.c", 1, 1))
	for name, want := range map[string]string{
		"a_b": "a.b", "a.b": "", "a-b": "", "a__b": "", ".x": "_x", "_x": "", "plain": "", "plain.": "", "a_b.c": "a.b.c",
		"a.b_c": "a.b.c", "a_b_d": "", "b": "",
	} {
		if got, ok := collision(b.Metadata.Image(), name); got != want || ok != (want != "") {
			t.Errorf("%s collides with %q, want %q", name, got, want)
		}
	}
}

// FuzzTopicName holds the check against Kafka's pattern, and against what a name could do to a file system.
func FuzzTopicName(f *testing.F) {
	for _, name := range []string{"", ".", "..", "...", "a", "a.b_c-D9", "../x", "a/b", "a\x00", "ä", "a b", "-", "_"} {
		f.Add(name)
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)
	f.Fuzz(func(t *testing.T, name string) {
		r := checkTopicName(name)
		if ok := legal.MatchString(name) && name != "." && name != ".."; ok != (r == nil) {
			t.Errorf("%q: %v", name, r)
		}
		if r == nil && filepath.Base(filepath.Join("/data", name+"-0")) != name+"-0" {
			t.Errorf("%q leaves its folder", name)
		}
	})
}
