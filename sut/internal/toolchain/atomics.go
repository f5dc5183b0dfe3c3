package toolchain

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// editAtomics gives the functions of sync/atomic, which are assembly, bodies in Go that begin with
// a point. The compiler knows these functions by name, and has instructions in their place unless
// it is told not to: see compilerFlags. They are in two files; the first one gets what both need.
func editAtomics(e *editor, first bool) {
	for _, d := range e.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body != nil {
			continue
		}
		body := atomicBody(f)
		if body == "" {
			continue // has its body in runtime/atomic_pointer.go
		}
		at := e.offset(f.End())
		e.replace(at, at, body)
		dropNoescape(e, f)
	}
	imports := "import (\n\t\"internal/race\"\n\tia \"internal/runtime/atomic\"\n"
	if first {
		e.swap("", "import (\n", imports)
		e.add(pointDeclaration)
		e.add("//go:linkname tandemPointToSwap\n//go:noescape\nfunc tandemPointToSwap(object " +
			"unsafe.Pointer, old uint64, width uint8)")
		e.add(fmt.Sprintf(atomicKinds, abi.AtomicLoad, abi.AtomicStore, abi.AtomicUpdate))
		e.add(loadPointer)
		return
	}
	e.swap("", "package atomic\n", "package atomic\n\n"+imports+"\t\"unsafe\"\n)\n")
}

// editAtomicTypes has the methods of the types of sync/atomic perform their operations themselves.
// They used to call the functions, which the compiler replaces by instructions wherever a method is
// inlined. Of the instances of a generic function that uses them, such as the methods of Pointer,
// the linker keeps that of any package: not one may be without its point.
func editAtomicTypes(e *editor) {
	for _, d := range e.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		receiver := f.Recv.List[0].Type.(*ast.StarExpr).X
		if index, ok := receiver.(*ast.IndexExpr); ok {
			receiver = index.X
		}
		typ := receiver.(*ast.Ident).Name
		switch basic := strings.ToLower(typ); {
		case atomicTypes[basic].operand != "":
			body := strings.TrimSpace(atomicOperation(f.Name.Name, basic, "&x.v"))
			e.replace(e.offset(f.Body.Pos()), e.offset(f.Body.End()), body)
			if results := f.Type.Results; results != nil && results.List[0].Names == nil {
				at := results.List[0].Type
				e.replace(e.offset(at.Pos()), e.offset(at.End()), "(val "+basic+")")
			}
		case typ == "Bool":
			e.callMethod(f, f.Name.Name+"Uint32", "(*Uint32)(unsafe.Pointer(x))."+f.Name.Name)
		case typ == "Pointer" && f.Name.Name == "Load":
			if call := e.onlyCall(f, "LoadPointer"); call != nil {
				e.replace(e.offset(call.Pos()), e.offset(call.Lparen), "tandemLoadPointer")
			}
		case typ != "Pointer":
			continue
		}
		e.replace(e.offset(f.Pos()), e.offset(f.Pos()), "//go:noinline\n")
	}
	e.swap("", "import \"unsafe\"\n", "import (\n\t\"internal/race\"\n\tia "+
		"\"internal/runtime/atomic\"\n\t\"unsafe\"\n)\n")
}

// callMethod replaces the call of a function, and its first argument, by that of a method.
func (e *editor) callMethod(f *ast.FuncDecl, name, method string) {
	call := e.onlyCall(f, name)
	if call == nil {
		return
	}
	rest := call.Rparen
	if len(call.Args) > 1 {
		rest = call.Args[1].Pos()
	}
	e.replace(e.offset(call.Pos()), e.offset(rest), method+"(")
}

// onlyCall finds the one call of a function in another, or notes that it is not there. Code that
// calls it more often is not known, and is no supported release.
func (e *editor) onlyCall(f *ast.FuncDecl, name string) *ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == name {
				found = append(found, call)
			}
		}
		return true
	})
	if len(found) != 1 {
		e.do(&anchorError{e.path, f.Name.Name + ": " + name, len(found)})
		return nil
	}
	return found[0]
}

// dropNoescape turns go:noescape, which only functions without a body may have,
// into go:nosplit: callers that cannot grow their stack exist.
func dropNoescape(e *editor, f *ast.FuncDecl) {
	if f.Doc == nil {
		return
	}
	for _, c := range f.Doc.List {
		if c.Text == "//go:noescape" {
			e.replace(e.offset(c.Pos()), e.offset(c.End()), "//go:nosplit")
		}
	}
}

// atomicTypes maps an operand type to the type and the suffix that
// internal/runtime/atomic has for it, to the type of its Xadd delta, and to its size in bytes.
var atomicTypes = map[string]struct{ operand, suffix, delta, mask, size string }{
	"int32":   {"uint32", "", "int32", "32", "4"},
	"uint32":  {"uint32", "", "int32", "32", "4"},
	"int64":   {"uint64", "64", "int64", "64", "8"},
	"uint64":  {"uint64", "64", "int64", "64", "8"},
	"uintptr": {"uintptr", "uintptr", "uintptr", "uintptr", "8"},
}

// atomicBody is the body of a function of sync/atomic that has none; empty if it gets one
// elsewhere. Names are an operation and a type, such as CompareAndSwapInt32.
func atomicBody(f *ast.FuncDecl) string {
	name := f.Name.Name
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr).X.(*ast.Ident)
	if !ok { // unsafe.Pointer
		if name != "LoadPointer" {
			return ""
		}
		return " { return tandemLoadPointer(addr) }"
	}
	return atomicOperation(name[:strings.IndexAny(name, "IU")], pointer.Name, "addr")
}

// loadPointer is LoadPointer with a name that the compiler does not know.
var loadPointer = "//go:nosplit\n//go:noinline\n" +
	"func tandemLoadPointer(addr *unsafe.Pointer) (val " +
	"unsafe.Pointer) { " +
	pointCall(abi.OpLoad, "addr", "nil") + "; val = ia.Loadp(unsafe.Pointer(addr)); " +
	atomicNote("race.Enabled", "addr", "atomicLoad") + "; return }"

// atomicOperation is the body of a function that performs an operation of sync/atomic on the
// variable of a type at address. Its results have the names that they have in doc.go. Types are
// int32, uint32, int64, uint64 and uintptr. Operations between signed numbers are those of unsigned
// ones of the same size.
func atomicOperation(operation, typ, address string) string {
	t := atomicTypes[typ]
	addr := "(*" + t.operand + ")(unsafe.Pointer(" + address + "))"
	convert := func(x string) string { return t.operand + "(" + x + ")" }
	op, kind, body, point := abi.OpUpdate, "atomicUpdate", "", ""
	switch operation {
	case "Load":
		op, kind, body = abi.OpLoad, "atomicLoad", "val = "+typ+"(ia.Load"+t.suffix+"("+addr+"))"
	case "Store":
		op, kind, body = abi.OpStore, "atomicStore", "ia.Store"+t.suffix+"("+addr+", "+convert("val")+")"
	case "Swap":
		body = "old = " + typ + "(ia.Xchg" + t.suffix + "(" + addr + ", " + convert("new") + "))"
	case "CompareAndSwap":
		// Whether it swaps is known beforehand, and one that does not only reads.
		point = fmt.Sprintf("tandemPointToSwap(unsafe.Pointer(%s), uint64(%s), %s)", address,
			convert("old"), t.size)
		kind, body = "atomicSwapKind(swapped)",
			"swapped = ia.Cas"+t.suffix+"("+addr+", "+convert("old")+", "+convert("new")+")"
	case "Add":
		body = "new = " + typ + "(ia.Xadd" + t.suffix + "(" + addr + ", " + t.delta + "(delta)))"
	case "And", "Or":
		body = "old = " + typ + "(ia." + operation + t.mask + "(" + addr + ", " + convert("mask") + "))"
	}
	if point == "" {
		point = pointCall(op, address, "nil")
	}
	return " { " + point + "; " + body + "; " + atomicNote("race.Enabled", address, kind) + "; return }"
}

// atomicNote is a statement that tells the race detector, if there is one, what has been done. It
// comes after the operation: a swap that has failed only reads.
func atomicNote(detecting, addr, kind string) string {
	return "if " + detecting + " { tandemAtomic(unsafe.Pointer(" + addr + "), " + kind + ") }"
}

// atomicKinds declares what the bodies use.
const atomicKinds = `//go:linkname tandemAtomic
//go:noescape
func tandemAtomic(addr unsafe.Pointer, kind uint8)

const (
	atomicLoad   = %d
	atomicStore  = %d
	atomicUpdate = %d
)

//go:nosplit
func atomicSwapKind(swapped bool) uint8 {
	if swapped {
		return atomicUpdate
	}
	return atomicLoad
}`

// editAtomicPointers adds the points of the pointer operations, which live in
// package runtime for the sake of the garbage collector, and keeps them from
// passing a second one in the uintptr operations that they are made of.
func editAtomicPointers(e *editor) {
	const address = "(*uintptr)(noescape(unsafe.Pointer(ptr)))"
	e.point("sync_atomic_StorePointer", abi.OpStore, "ptr", "nil")
	e.swap("sync_atomic_StorePointer", "sync_atomic_StoreUintptr((*uintptr)(unsafe.Pointer(ptr)), "+
		"uintptr(new))",
		"atomic.StorepNoWB(unsafe.Pointer(ptr), new); "+atomicNote("raceenabled", "ptr", "atomicStore"))
	e.point("sync_atomic_SwapPointer", abi.OpUpdate, "ptr", "nil")
	e.swap("sync_atomic_SwapPointer", "sync_atomic_SwapUintptr("+address+", uintptr(new))",
		"atomic.Xchguintptr("+address+", uintptr(new))")
	e.before("sync_atomic_SwapPointer", "return old", atomicNote("raceenabled", "ptr", "atomicUpdate"))
	e.enter("sync_atomic_CompareAndSwapPointer",
		"tandemAtomicPointToSwap(unsafe.Pointer(ptr), uint64(uintptr(old)), 8)")
	e.swap("sync_atomic_CompareAndSwapPointer",
		"return sync_atomic_CompareAndSwapUintptr("+address+", uintptr(old), uintptr(new))",
		"swapped := atomic.Casuintptr("+address+", uintptr(old), uintptr(new)); if swapped { "+
			atomicNote("raceenabled", "ptr", "atomicUpdate")+" } else { "+
			atomicNote("raceenabled", "ptr", "atomicLoad")+" }; return swapped")
}
