package house

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Marks between which a document has the diagram.
const (
	diagramBegins = "<!-- packages: go run ./lint/house -diagram -->\n"
	diagramEnds   = "<!-- end of packages -->\n"
)

// Diagram draws which rooms import which, as Mermaid. What a room imports through another one that
// it imports is left out. So are lint, scripts, and the root.
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
	for next := range imports[room] {
		if next != target && (imports[next][target] || reaches(imports, next, target)) {
			return true
		}
	}
	return false
}

// PutDiagram puts the diagram into a document, between its marks. It says whether that has changed
// the file.
func PutDiagram(h *House, name string) (changed bool, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	before, rest, ok := strings.Cut(string(data), diagramBegins)
	_, after, ended := strings.Cut(rest, diagramEnds)
	if !ok || !ended {
		return false, fmt.Errorf("%s: there is no %q that is followed by %q", name, diagramBegins,
			diagramEnds)
	}
	text := before + diagramBegins + Diagram(h) + diagramEnds + after
	if text == string(data) {
		return false, nil
	}
	return true, os.WriteFile(name, []byte(text), 0o644)
}

// HasDiagram says whether a document has the diagram as it is now.
func HasDiagram(h *House, name string) (bool, error) {
	data, err := os.ReadFile(name)
	return strings.Contains(string(data), diagramBegins+Diagram(h)+diagramEnds), err
}
