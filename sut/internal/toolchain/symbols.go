package toolchain

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// symbols resolves program counters of an executable. It is only read, so several goroutines may
// ask at the same time.
type symbols struct {
	table      *gosym.Table
	returnStub uint64 // the entry of runtime.tandemReturn
	code       []byte // of all functions, from the address on that follows
	codeAt     uint64
}

// Position is a place in the program's source.
type Position struct {
	// Function is named as the linker does it: see textutil.FunctionName.
	Function string
	File     string
	Line     int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Package is the import path of the package that the place is in. That of a main package is "main".
func (p Position) Package() string { return textutil.PackageOf(p.Function) }

// Name is the function's name as the source has it.
func (p Position) Name() string { return textutil.FunctionName(p.Function) }

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
	s := &symbols{table: table, codeAt: text.Addr}
	if s.code, err = text.Data(); err != nil {
		return nil, err
	}
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

// callSize is the size of a direct call on amd64: the opcode, and how far the function is from the
// end of the call, in four bytes.
const (
	callSize   = 5
	callOpcode = 0xe8
)

// callee is the function that the code which ends at a program counter calls directly. It is nil
// where the code is no such call: a call of a method of an interface, for instance.
func (s *symbols) callee(pc uint64) *gosym.Func {
	if pc < s.codeAt+callSize || pc > s.codeAt+uint64(len(s.code)) {
		return nil
	}
	call := s.code[pc-s.codeAt-callSize:]
	if call[0] != callOpcode {
		return nil
	}
	target := pc + uint64(int64(int32(binary.LittleEndian.Uint32(call[1:callSize]))))
	if f := s.table.PCToFunc(target); f != nil && f.Entry == target {
		return f
	}
	return nil
}

// Callee is the function that is called where a call returns to pc, such as
// "sync.(*Cond).Broadcast"; empty if that is not known, since the code does not name it.
func (p *Program) Callee(pc uint64) string {
	if p.symbols == nil {
		return ""
	}
	if f := p.symbols.callee(pc); f != nil {
		return f.Name
	}
	return ""
}

// CalledBy is the only function, but for those of the runtime, that the function at an entry calls
// directly; empty if there is not exactly one. It is what a function calls that the compiler has
// made for a go statement. Bytes that look like a call, and are none, hardly ever lead to the
// entry of a function.
func (p *Program) CalledBy(entry uint64) (name string) {
	if p.symbols == nil {
		return ""
	}
	f := p.symbols.table.PCToFunc(entry)
	if f == nil || f.Entry != entry {
		return ""
	}
	for pc := entry + callSize; pc <= f.End; pc++ {
		called := p.symbols.callee(pc)
		if called == nil || strings.HasPrefix(called.Name, "runtime.") || called.Name == name {
			continue
		}
		if name != "" {
			return ""
		}
		name = called.Name
	}
	return name
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

// Method is the only method of a name that the types of a package have; ok is false if there is
// none or are several. So it names the function that a method value calls.
func (p *Program) Method(pkg, name string) (function string, ok bool) {
	for i := range p.symbols.table.Funcs {
		f := p.symbols.table.Funcs[i].Name
		if textutil.PackageOf(f) != pkg || !strings.HasSuffix(f, "."+name) ||
			strings.Count(f[len(pkg):], ".") != 2 {
			continue
		}
		if function != "" {
			return "", false
		}
		function = f
	}
	return function, function != ""
}

// Has reports whether a function is a part of the program. The linker leaves out what nobody calls.
func (p *Program) Has(function string) bool {
	return p.symbols != nil && p.symbols.table.LookupFunc(function) != nil
}

// Module is the path of the module that a place is in, "" if that is a main module or the standard
// library.
func (p *Program) Module(at Position) string { return p.modules[at.Package()] }

// IsOwn reports whether a place is in the code that goroutines may be preempted in: the main module
// and what the user named.
func (p *Program) IsOwn(at Position) bool { return matchesAny(p.Open, at.Package()) }
