package house

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// Finding is a place where a rule is not kept. Places of one rule in one room are summed up, and
// compared with lint/exceptions.txt.
type Finding struct {
	// Rule is one of Rules, Room the top-level directory.
	Rule string
	Room string
	// What is the place, and what is wrong there, for people.
	What string
	// Size is by how much the rule is not kept, in its own unit; at least 1.
	Size int
}

// Rules has the rules by name: what each of them wants.
var Rules = map[string]string{
	"lines":     fmt.Sprintf("a package has at most %d lines, tests left out", MaxLines),
	"files":     fmt.Sprintf("a package has at most %d files, tests left out", MaxFiles),
	"spread":    fmt.Sprintf("the methods of a type lie in at most %d files", MaxSpread),
	"fields":    fmt.Sprintf("a struct has at most %d fields", MaxFields),
	"circle":    fmt.Sprintf("at most %d files of a package use each other in a circle", MaxCircle),
	"columns":   fmt.Sprintf("a line has at most %d columns", MaxColumns),
	"comments":  fmt.Sprintf("a comment ends at column %d at the latest", MaxCommentColumn),
	"share":     fmt.Sprintf("at least %d %% of the lines of a room are comments", MinComments),
	"sentences": fmt.Sprintf("half of the sentences of a room's comments have at most %d words", MaxWords),
	"face":      "what a room exports is in the file named like it, or in one named after it",
	"imports":   "a command imports " + strings.Join(commandImports, ", ") + " and the rooms that it starts",
}

// Findings lists all places where a rule is not kept. The order is that of the packages, then of
// the lines; rooms come last, in any order.
func (h *House) Findings() (all []Finding) {
	for _, p := range h.Packages {
		all = append(all, p.findings()...)
	}
	for _, place := range h.Wide {
		all = append(all, Finding{"columns", roomOf(place), place, 1})
	}
	for _, place := range h.Far {
		all = append(all, Finding{"comments", roomOf(place), place, 1})
	}
	// These two are of a whole room: a small package may well have few comments.
	for room, sum := range h.rooms() {
		if share := sum.commentShare(); share < MinComments && sum.Lines >= smallRoom {
			missing := int(math.Ceil(MinComments - share)) // percent
			all = append(all, Finding{"share", room, fmt.Sprintf("%s has %.1f %%", room, share), missing})
		}
		if words := quantile(sum.Sentences, 50); words > MaxWords {
			all = append(all, Finding{"sentences", room, fmt.Sprintf("%s has %d in the median", room, words),
				words - MaxWords})
		}
	}
	return all
}

// smallRoom is below how many lines the share of comments says nothing: one long file decides.
const smallRoom = 1000

// findings are those of one package. The size says by how much a limit is missed, so that an
// exception cannot get worse without notice.
func (p *Package) findings() (all []Finding) {
	add := func(size int, rule, format string, args ...any) {
		all = append(all, Finding{rule, p.Room(), fmt.Sprintf(format, args...), size})
	}
	if p.Lines > MaxLines {
		add(p.Lines-MaxLines, "lines", "%s has %d", p.Dir, p.Lines)
	}
	if p.Files > MaxFiles {
		add(p.Files-MaxFiles, "files", "%s has %d", p.Dir, p.Files)
	}
	if len(p.Circle) > MaxCircle {
		add(len(p.Circle)-MaxCircle, "circle", "%s has %d: %s", p.Dir, len(p.Circle),
			strings.Join(p.Circle, " "))
	}
	for _, t := range p.Types {
		if t.Files > MaxSpread {
			add(t.Files-MaxSpread, "spread", "%s.%s: %d files", p.Dir, t.Name, t.Files)
		}
	}
	for _, t := range p.Structs {
		if t.Fields > MaxFields {
			add(t.Fields-MaxFields, "fields", "%s.%s: %d fields", p.Dir, t.Name, t.Fields)
		}
	}
	for _, name := range p.Outside {
		add(1, "face", "%s", name)
	}
	for _, name := range p.Imports {
		if !commandMayImport(p.Dir, name) {
			add(1, "imports", "%s: %s", p.Dir, name)
		}
	}
	return all
}

// commandImports are the rooms that commands are made of. Rooms below these are for them, and not
// for commands.
var commandImports = []string{"check", "configs", "report", "doctor", "internal/fileutil",
	"internal/textutil", "internal/advice"}

// commandMayImport says whether the package in dir may import a room of the house. A package below
// the directory of the command belongs to it.
func commandMayImport(dir, room string) bool {
	if !within(dir, "cmd") {
		return true
	}
	// The room that it starts is named like the command. Tandem is the other commands, too.
	starts := []string{path.Base(dir)}
	if within(dir, "cmd/tandem") {
		starts = append(starts, "ckptd", "proxy")
	}
	for _, allowed := range slices.Concat(starts, commandImports) {
		if within(room, allowed) || within(dir, room) || within(room, dir) {
			return true
		}
	}
	return false
}

// rooms sums up the packages of each room. Only the sums mean something there, and not the names.
func (h *House) rooms() map[string]*Package {
	sums := map[string]*Package{}
	for _, p := range h.Packages {
		if sums[p.Room()] == nil {
			sums[p.Room()] = &Package{}
		}
		sums[p.Room()].add(p)
	}
	return sums
}

// roomOf is the room of a place, which is file:line.
func roomOf(place string) string {
	return (&Package{Dir: path.Dir(place)}).Room()
}
