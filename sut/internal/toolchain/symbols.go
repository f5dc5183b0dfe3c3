package toolchain

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
)

// symbols resolves program counters of an executable. It is only read, so several goroutines may
// ask at the same time.
type symbols struct {
	table      *gosym.Table
	dotted     map[string]string // by function, its package, where that has a dot in its last element
	returnStub uint64            // the entry of runtime.tandemReturn
	code       []byte            // of all functions, from the address on that follows
	codeAt     uint64
}

// Position is a place in the program's source.
type Position struct {
	// Function has the import path of its package, as it is written in source: "net/http.Get".
	Function string
	File     string
	Line     int

	pkg string // its package, where the name of the function does not tell
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Package is the import path of the package that the place is in. That of a main package is "main".
func (p Position) Package() string { return cmp.Or(p.pkg, packageOf(p.Function)) }

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
	s.unescape()
	if s.code, err = text.Data(); err != nil {
		return nil, err
	}
	if f := table.LookupFunc("runtime.tandemReturn"); f != nil {
		s.returnStub = f.Entry
	}
	return s, nil
}

// unescape gives functions the names that the source has. The linker writes "%2e" for a dot in the
// last element of an import path, so that the first dot behind the last slash ends the path. Where
// that is so no more, the package is noted.
func (s *symbols) unescape() {
	s.dotted = map[string]string{}
	for i := range s.table.Funcs {
		f := &s.table.Funcs[i]
		if name := FunctionName(f.Name); name != f.Name {
			s.dotted[name] = FunctionName(packageOf(f.Name))
			f.Name = name
		}
	}
}

// FunctionName is the name that the source has for a function, of the one that the linker has and
// the runtime prints.
func FunctionName(linked string) string {
	if !strings.Contains(linked, "%") {
		return linked
	}
	name, err := url.PathUnescape(linked)
	if err != nil {
		return linked // nobody but the linker knows what it means
	}
	return name
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
	name := function.Name
	return Position{Function: name, File: file, Line: line, pkg: p.symbols.dotted[name]}, true
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
	return Position{Function: function, File: file, Line: line, pkg: p.symbols.dotted[function]}, true
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
		if p.packageOf(f) != pkg || !strings.HasSuffix(f, "."+name) || strings.Count(f[len(pkg):], ".") != 2 {
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

// packageOf is the import path of a function's package.
func (p *Program) packageOf(function string) string {
	if p.symbols != nil && p.symbols.dotted[function] != "" {
		return p.symbols.dotted[function]
	}
	return packageOf(function)
}

// packageOf is the import path in the name of a function, if its last element has no dot.
func packageOf(function string) string {
	path, _, _ := strings.Cut(function, "[") // type arguments have paths of their own
	slash := strings.LastIndex(path, "/") + 1
	dot := strings.Index(path[slash:], ".")
	if dot < 0 {
		return path
	}
	return path[:slash+dot]
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
