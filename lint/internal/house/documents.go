package house

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// drawn are the documents that have something that is made of the code, between two lines: the
// file, the first line, and what comes before the last one. To draw another one, add a row here and
// the two lines to the document.
var drawn = []struct {
	file, begins string
	text         func(*House) string
}{
	{"ARCHITECTURE.md", "<!-- packages: go run ./lint/house -documents -->\n", Diagram},
	{"docs/design/packages.md", "<!-- packages: go run ./lint/house -documents -->\n", List},
}

// drawingEnds is the line after what is made of the code.
const drawingEnds = "<!-- end of packages -->\n"

// Diagram draws which rooms import which, as Mermaid. What a room imports through another one that
// it imports is left out. So are lint, scripts, and the root. Rooms and arrows are in alphabetical
// order, so that the drawing changes only with the imports.
func Diagram(h *House) string {
	imports := map[string]map[string]bool{}
	for _, p := range h.Packages {
		room := p.Room()
		if room == "." || room == "lint" || room == "scripts" {
			continue
		}
		if imports[room] == nil {
			imports[room] = map[string]bool{}
		}
		for _, name := range p.Imports {
			target := (&Package{Dir: name}).Room()
			if target != room && target != "scripts" {
				imports[room][target] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, room := range slices.Sorted(maps.Keys(imports)) {
		for _, target := range slices.Sorted(maps.Keys(imports[room])) {
			if !reaches(imports, room, target) {
				fmt.Fprintf(&b, "    %s --> %s\n", room, target)
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// reaches says whether another import of a room imports the target, directly or not. There are no
// circles of imports.
func reaches(imports map[string]map[string]bool, room, target string) bool {
	// The target itself is how it is imported directly.
	for next := range imports[room] {
		if next != target && (imports[next][target] || reaches(imports, next, target)) {
			return true
		}
	}
	return false
}

// List has a line for each package: what its comment says first. Each room has a table of its own.
// A bar in a comment would end a cell, so it is escaped.
func List(h *House) string {
	var b strings.Builder
	room := ""
	for _, p := range h.Packages {
		if p.Dir == "." {
			continue
		}
		if p.Room() != room {
			room = p.Room()
			fmt.Fprintf(&b, "\n## %s\n\n| package | what it is |\n|---|---|\n", room)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Dir, strings.ReplaceAll(p.Synopsis, "|", "\\|"))
	}
	return b.String() + "\n"
}

// PutDocuments makes anew what documents below a directory have of the code. It returns those that
// have changed. A document without the two lines is an error: it would stay as it is, and nobody
// would notice.
func PutDocuments(h *House, root string) (changed []string, err error) {
	for _, d := range drawn {
		name := filepath.Join(root, d.file)
		data, err := os.ReadFile(name)
		if err != nil {
			return changed, err
		}
		// The first such line counts; what is between the two is dropped.
		before, rest, ok := strings.Cut(string(data), d.begins)
		_, after, ended := strings.Cut(rest, drawingEnds)
		if !ok || !ended {
			return changed, fmt.Errorf("%s: there is no %q that is followed by %q", name, d.begins,
				drawingEnds)
		}
		text := before + d.begins + d.text(h) + drawingEnds + after
		if text == string(data) {
			continue
		}
		changed = append(changed, d.file)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// Outdated lists the documents below a directory that PutDocuments would change. It writes nothing.
func Outdated(h *House, root string) (names []string, err error) {
	for _, d := range drawn {
		data, err := os.ReadFile(filepath.Join(root, d.file))
		if err != nil {
			return names, err
		}
		if !strings.Contains(string(data), d.begins+d.text(h)+drawingEnds) {
			names = append(names, d.file)
		}
	}
	return names, nil
}
