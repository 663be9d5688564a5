package job

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ownPrefix starts a comment that holds keys of our own.
const ownPrefix = "#zurau:"

// maxFile bounds a job file: it is written by hand.
const maxFile = 1 << 20

// Load reads a job file.
func Load(name string) (*File, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, b)
}

// Parse reads the text of a job file. An error is an *Error with the first line that is wrong.
func Parse(name string, text []byte) (*File, error) {
	r := reader{file: &File{Name: name}, docs: map[string]Doc{}, own: map[string]Doc{}, ignored: map[string]bool{}, global: base()}
	for _, d := range Keys() {
		r.docs[d.Name] = d
	}
	for _, d := range OwnKeys() {
		r.own[d.Name] = d
	}
	for _, d := range Ignored() {
		r.ignored[d.Name] = true
	}
	if len(text) > maxFile {
		return nil, r.bad(0, "", "", "larger than a job file is")
	}
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, maxFile+1)
	for n := 1; s.Scan(); n++ {
		if err := r.line(n, strings.TrimSpace(s.Text())); err != nil {
			return nil, err
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(r.file.Jobs) == 0 {
		return nil, r.bad(1, "", "", "no job: want a [section] beside [global]")
	}
	for _, j := range r.file.Jobs {
		if err := r.check(j); err != nil {
			return nil, err
		}
	}
	return r.file, nil
}

// base is a job as fio has it without any key.
func base() *Job {
	return &Job{Pattern: Read, BlockSize: 4096, Files: 1, Clones: 1, Depth: 1, Engine: "psync", ReadPercent: 50, Invalidate: true}
}

// A reader is in the middle of a file.
type reader struct {
	file      *File
	docs, own map[string]Doc
	ignored   map[string]bool
	global    *Job
	at        *Job // the section, or global
}

func (r *reader) bad(line int, key, value, want string) error {
	return &Error{File: r.file.Name, Line: line, Key: key, Text: value, Want: want}
}

func (r *reader) line(n int, s string) error {
	if rest, ok := strings.CutPrefix(s, ownPrefix); ok {
		for _, pair := range strings.Fields(rest) {
			k, v, _ := strings.Cut(pair, "=")
			if err := r.set(r.own, n, k, v, "no such key of ours: see zurau bench keys"); err != nil {
				return err
			}
		}
		return nil
	}
	if i := strings.IndexAny(s, ";#"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	if s == "" {
		return nil
	}
	if s[0] == '[' {
		return r.section(n, s)
	}
	k, v, _ := strings.Cut(s, "=")
	k, v = strings.TrimSpace(k), strings.TrimSpace(v)
	if r.ignored[k] && r.at != nil {
		r.at.Keys = append(r.at.Keys, Key{k, v, n})
		if !slices.Contains(r.file.Ignored, k) {
			r.file.Ignored = append(r.file.Ignored, k)
		}
		return nil
	}
	if err := r.set(r.docs, n, k, v, "not supported here: see zurau bench keys"); err != nil {
		return err
	}
	r.at.Keys = append(r.at.Keys, Key{k, v, n})
	return nil
}

func (r *reader) set(docs map[string]Doc, n int, k, v, unknown string) error {
	if r.at == nil {
		return r.bad(n, k, v, "before the first [section]")
	}
	d, ok := docs[k]
	if !ok {
		return r.bad(n, k, v, unknown)
	}
	if err := d.set(r.at, v); err != nil {
		var w wanted
		errors.As(err, &w)
		return r.bad(n, k, v, string(w))
	}
	return nil
}

func (r *reader) section(n int, s string) error {
	name, ok := strings.CutSuffix(s[1:], "]")
	switch {
	case !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(name, "[]"):
		return r.bad(n, "", "", s+": want [name]")
	case name == "global":
		r.at = r.global
		return nil
	case slices.ContainsFunc(r.file.Jobs, func(j *Job) bool { return j.Name == name }):
		return r.bad(n, "", "", s+": a section of that name is above")
	}
	j := *r.global
	j.Name, j.Line, j.Keys = name, n, slices.Clone(r.global.Keys)
	r.at = &j
	r.file.Jobs = append(r.file.Jobs, &j)
	return nil
}

// check looks at what keys mean together.
func (r *reader) check(j *Job) error {
	at := func(key, want string) error {
		for _, k := range slices.Backward(j.Keys) {
			if k.Name == key {
				return r.bad(k.Line, key, k.Value, want)
			}
		}
		return r.bad(j.Line, "", "", "["+j.Name+"]: "+want)
	}
	switch {
	case j.Size == 0:
		return at("size", "a size is missing")
	case j.Size < j.BlockSize*int64(j.Files):
		return at("size", "less than one block for each file")
	case j.TimeBased && j.Runtime == 0:
		return at("time_based", "a runtime is missing")
	case j.Filename != "" && j.Files > 1:
		return at("nrfiles", "more than one with a filename")
	case int64(j.Files)*int64(j.Clones) > maxCount || int64(j.Streams()) > maxCount:
		return at("numjobs", "too many files or requests")
	case j.BlockSize > 64<<20 || j.Batch() > 64<<20:
		return at("bs", "more than 64m")
	}
	return nil
}

// Base returns the file's name without folder and suffix.
func (f *File) Base() string { return strings.TrimSuffix(filepath.Base(f.Name), ".fio") }
