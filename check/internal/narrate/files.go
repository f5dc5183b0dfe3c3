package narrate

import (
	"path/filepath"
	"strings"

	"github.com/tandem-mc/tandem/sut"
)

// sourceFiles are the files that a report may name: the name that shortSource gives them, and the
// path. A name that two files share stands for none of them, and has an empty path. Reports name
// the places of events, of the stacks of a race, and of the signature.
func sourceFiles(p *sut.Program, log *sut.Log, s Signature) map[string]string {
	files := map[string]string{}
	add := func(at sut.Position) {
		// Only machines need the path, and these cannot do anything with one that is relative to
		// an unknown directory.
		if !filepath.IsAbs(at.File) {
			return
		}
		name := shortSource(at)
		name = name[:strings.LastIndex(name, ":")]
		if known, ok := files[name]; ok && known != at.File {
			files[name] = ""
			return
		}
		files[name] = at.File
	}
	// Many events are at the same place.
	seen := map[uint64]bool{0: true}
	addCall := func(pc uint64) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		if at, ok := p.Position(pc); ok {
			add(at)
		}
	}
	for i := range log.Events {
		addCall(log.Events[i].PC)
		addCall(log.Events[i].Open)
	}
	stacks := [][]uint64{log.Stack}
	if log.Race != nil {
		stacks = append(stacks, log.Race.Earlier.Stack, log.Race.Later.Stack)
	}
	for _, stack := range stacks {
		for _, pc := range stack {
			addCall(pc)
		}
	}
	if at, ok := p.Declared("main.main"); ok {
		add(at)
	}
	for _, at := range s.at {
		add(at.Position)
	}
	return files
}
