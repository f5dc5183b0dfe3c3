package report

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Place is a line of a file. The path is relative to the directory that RelativeTo was given, with
// slashes.
type Place struct {
	File string
	Line int
}

// RelativeTo has places be relative to a directory, an absolute path. Files outside of it have no
// place any more, since others cannot open them: those of the standard library for instance.
func (c *Counterexample) RelativeTo(root string) {
	within := map[string]string{}
	for name, file := range c.Files {
		path, err := filepath.Rel(root, file)
		if file != "" && err == nil && filepath.IsLocal(path) {
			within[name] = filepath.ToSlash(path)
		}
	}
	c.Files = within
}

// Place finds a place that a text of the counterexample ends with, such as "lock at
// bank/main.go:7". A name without a directory is found if only one file has it. ok is false if the
// file is not known.
func (c *Counterexample) Place(text string) (at Place, ok bool) {
	name, number, ok := cutLast(text, ":")
	line, err := strconv.Atoi(number)
	if !ok || err != nil || line < 1 {
		return Place{}, false
	}
	// Names may have blanks in them, so the longest one counts that the text ends with.
	// A name that two files share is known, and has no place.
	known := ""
	for short := range c.Files {
		if (name == short || strings.HasSuffix(name, " "+short)) && len(short) > len(known) {
			known = short
		}
	}
	if file := c.Files[known]; file != "" {
		return Place{file, line}, true
	}
	name = name[strings.LastIndex(name, " ")+1:]
	// What tests print about themselves has the name of the file only.
	found := ""
	for short, file := range c.Files {
		if !strings.HasSuffix(short, "/"+name) {
			continue
		}
		if file == "" || found != "" {
			return Place{}, false
		}
		found = file
	}
	return Place{found, line}, found != ""
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// Where lists the places that a violation is about, each once: those that tell it apart, and if
// none of these is known, the last step that is at a known place, or the main function. Of a data
// race, the later access is the first. The list is empty if nothing is known.
func (v Violation) Where() (list []Place) {
	c := v.Counterexample
	if c == nil {
		return nil
	}
	// Two places of a violation may be the same line.
	add := func(text string) {
		at, ok := c.Place(text)
		for _, known := range list {
			ok = ok && known != at
		}
		if ok {
			list = append(list, at)
		}
	}
	// The innermost call in a file of the tree stands for an access.
	if c.Race != nil {
		for _, access := range []MemoryAccess{c.Race.Later, c.Race.Earlier} {
			before := len(list)
			for _, f := range access.Stack {
				if add(f.Source); len(list) > before {
					break
				}
			}
		}
	}
	for _, text := range v.Places {
		add(text)
	}
	// The end of the schedule is nearest to the failure.
	for i := len(c.Steps) - 1; i >= 0 && len(list) == 0; i-- {
		add(c.Steps[i].Source)
	}
	// A program that ends at once has no step.
	if len(list) == 0 {
		add(c.Begins)
	}
	return list
}
