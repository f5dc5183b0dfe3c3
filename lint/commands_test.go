package lint

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandImports lists the rooms that each command imports, in its tests, too. A command has flags,
// prints, and wires; what decides is in a room, where it can be tested without a process.
var commandImports = map[string][]string{
	"cmd/tandem": {"check", "configs", "report", "doctor"},
	"cmd/ckptd":  {"ckptd"},
	"cmd/proxy":  {"proxy"},
}

func TestCommandsImportFewRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range own(t) {
		if s.room() != "cmd" {
			continue
		}
		dir := filepath.Dir(s.path)
		rooms, ok := commandImports[dir]
		if !ok {
			t.Errorf("%s: say in commandImports which rooms %s imports", s.path, dir)
		}
		seen[dir] = true
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if room, ok := strings.CutPrefix(name, module+"/"); ok && !slices.Contains(rooms, room) {
				t.Errorf("%s: %s imports only %s, and not %s", s.position(spec), dir, strings.Join(rooms, ", "), room)
			}
		}
	}
	if len(seen) != len(commandImports) {
		t.Errorf("there are %d commands, and rules for %d", len(seen), len(commandImports))
	}
}
