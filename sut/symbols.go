package sut

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"strings"
)

// symbols resolves program counters of an executable.
type symbols struct {
	table *gosym.Table
}

// Position is a place in the program's source.
type Position struct {
	Function string
	File     string
	Line     int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

func readSymbols(path string) (*symbols, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, fmt.Errorf("%s has no symbol table of Go", path)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &symbols{table: table}, nil
}

// Position resolves the program counter of a call; ok is false if it is in no
// function of the program.
func (p *Program) Position(pc uint64) (at Position, ok bool) {
	if pc == 0 {
		return Position{}, false
	}
	file, line, function := p.symbols.table.PCToLine(pc - 1) // a return address: the call is before it
	if function == nil {
		return Position{}, false
	}
	return Position{Function: function.Name, File: file, Line: line}, true
}

// IsOwn reports whether a place is in the code that goroutines may be preempted
// in: the main module and what the user named.
func (p *Program) IsOwn(at Position) bool {
	for _, pattern := range p.Open {
		base := strings.TrimSuffix(pattern, "/...")
		rest, ok := strings.CutPrefix(at.Function, base)
		if ok && (strings.HasPrefix(rest, ".") || base != pattern && strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	return false
}
