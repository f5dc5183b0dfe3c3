package toolchain

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"strings"
)

// symbols resolves program counters of an executable. It is only read, so several goroutines may
// ask at the same time.
type symbols struct {
	table      *gosym.Table
	returnStub uint64 // the entry of runtime.tandemReturn
}

// Position is a place in the program's source.
type Position struct {
	Function string
	File     string
	Line     int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// readSymbols reads the table of functions and lines of an executable. It is that of the runtime,
// which is there without debugging information, too.
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
	s := &symbols{table: table}
	if f := table.LookupFunc("runtime.tandemReturn"); f != nil {
		s.returnStub = f.Entry
	}
	return s, nil
}

// Position resolves the program counter of a call; ok is false if it is in no
// function of the program. A Program that was not built has none.
func (p *Program) Position(pc uint64) (at Position, ok bool) {
	if pc == 0 || p.symbols == nil {
		return Position{}, false
	}
	// A return address: the call is before it.
	file, line, function := p.symbols.table.PCToLine(pc - 1)
	if function == nil {
		return Position{}, false
	}
	return Position{Function: function.Name, File: file, Line: line}, true
}

// Declared is where a function begins, which is named with its package: "main.main".
func (p *Program) Declared(function string) (at Position, ok bool) {
	if p.symbols == nil {
		return Position{}, false
	}
	f := p.symbols.table.LookupFunc(function)
	if f == nil {
		return Position{}, false
	}
	file, line, _ := p.symbols.table.PCToLine(f.Entry)
	return Position{Function: function, File: file, Line: line}, true
}

// ReturnStub is the address that takes the place of the return address of a call of a sealed
// package while that call is under way; 0: there is none.
func (p *Program) ReturnStub() uint64 { return p.symbols.returnStub }

// FunctionAt is the function whose name begins with that of outer and a dot, and whose code begins
// at a line of the source: a function literal in outer.
func (p *Program) FunctionAt(file string, line int, outer string) (name string, ok bool) {
	for i := range p.symbols.table.Funcs {
		f := &p.symbols.table.Funcs[i]
		if !strings.HasPrefix(f.Name, outer+".") || strings.Contains(f.Name[len(outer):], ".gowrap") {
			continue
		}
		if in, first, _ := p.symbols.table.PCToLine(f.Entry); in == file && first == line {
			return f.Name, true
		}
	}
	return "", false
}

// Has reports whether a function is a part of the program. The linker leaves out what nobody calls.
func (p *Program) Has(function string) bool {
	return p.symbols != nil && p.symbols.table.LookupFunc(function) != nil
}

// Module is the path of the module that a place is in, "" if that is a main module or the standard
// library.
func (p *Program) Module(at Position) string { return p.modules[packageOf(at.Function)] }

// packageOf is the import path in the name of a function, in which the linker escapes dots of the
// last element.
func packageOf(function string) string {
	path, _, _ := strings.Cut(function, "[") // type arguments have paths of their own
	slash := strings.LastIndex(path, "/") + 1
	dot := strings.Index(path[slash:], ".")
	if dot < 0 {
		return path
	}
	return strings.ReplaceAll(path[:slash+dot], "%2e", ".")
}

// IsOwn reports whether a place is in the code that goroutines may be preempted in: the main module
// and what the user named. Functions are named by the paths of their packages.
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
