package sut

import (
	"fmt"
	"go/ast"
	"strings"
)

// editAtomics gives the functions of sync/atomic, which are assembly, bodies in
// Go that begin with a point.
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
		e.add("//go:linkname tandemPointToSwap\n//go:noescape\nfunc tandemPointToSwap(object unsafe.Pointer, old uint64, width uint8)")
		e.add(fmt.Sprintf(atomicKinds, atomicLoad, atomicStore, atomicUpdate))
		return
	}
	e.swap("", "package atomic\n", "package atomic\n\n"+imports+"\t\"unsafe\"\n)\n")
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

func atomicBody(f *ast.FuncDecl) string {
	name := f.Name.Name
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr).X.(*ast.Ident)
	if !ok { // unsafe.Pointer
		if name != "LoadPointer" {
			return ""
		}
		return " { " + pointCall(opLoad, "addr", "nil") + "; val = ia.Loadp(unsafe.Pointer(addr)); " + atomicNote("race.Enabled", "addr", "atomicLoad") + "; return }"
	}
	t := atomicTypes[pointer.Name]
	operation := name[:strings.IndexAny(name, "IU")]
	addr := "(*" + t.operand + ")(unsafe.Pointer(addr))"
	convert := func(x string) string { return t.operand + "(" + x + ")" }
	op, kind, body, point := opUpdate, "atomicUpdate", "", ""
	switch operation {
	case "Load":
		op, kind, body = opLoad, "atomicLoad", "val = "+pointer.Name+"(ia.Load"+t.suffix+"("+addr+"))"
	case "Store":
		op, kind, body = opStore, "atomicStore", "ia.Store"+t.suffix+"("+addr+", "+convert("val")+")"
	case "Swap":
		body = "old = " + pointer.Name + "(ia.Xchg" + t.suffix + "(" + addr + ", " + convert("new") + "))"
	case "CompareAndSwap":
		point = fmt.Sprintf("tandemPointToSwap(unsafe.Pointer(addr), uint64(%s), %s)", convert("old"), t.size)
		kind, body = "atomicSwapKind(swapped)", "swapped = ia.Cas"+t.suffix+"("+addr+", "+convert("old")+", "+convert("new")+")"
	case "Add":
		body = "new = " + pointer.Name + "(ia.Xadd" + t.suffix + "(" + addr + ", " + t.delta + "(delta)))"
	case "And", "Or":
		body = "old = " + pointer.Name + "(ia." + operation + t.mask + "(" + addr + ", " + convert("mask") + "))"
	}
	if point == "" {
		point = pointCall(op, "addr", "nil")
	}
	return " { " + point + "; " + body + "; " + atomicNote("race.Enabled", "addr", kind) + "; return }"
}

// atomicNote tells the race detector, if there is one, what has been done.
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
	e.point("sync_atomic_StorePointer", opStore, "ptr", "nil")
	e.swap("sync_atomic_StorePointer", "sync_atomic_StoreUintptr((*uintptr)(unsafe.Pointer(ptr)), uintptr(new))",
		"atomic.StorepNoWB(unsafe.Pointer(ptr), new); "+atomicNote("raceenabled", "ptr", "atomicStore"))
	e.point("sync_atomic_SwapPointer", opUpdate, "ptr", "nil")
	e.swap("sync_atomic_SwapPointer", "sync_atomic_SwapUintptr("+address+", uintptr(new))",
		"atomic.Xchguintptr("+address+", uintptr(new))")
	e.before("sync_atomic_SwapPointer", "return old", atomicNote("raceenabled", "ptr", "atomicUpdate"))
	e.enter("sync_atomic_CompareAndSwapPointer", "tandemAtomicPointToSwap(unsafe.Pointer(ptr), uint64(uintptr(old)), 8)")
	e.swap("sync_atomic_CompareAndSwapPointer", "return sync_atomic_CompareAndSwapUintptr("+address+", uintptr(old), uintptr(new))",
		"swapped := atomic.Casuintptr("+address+", uintptr(old), uintptr(new)); if swapped { "+
			atomicNote("raceenabled", "ptr", "atomicUpdate")+" } else { "+atomicNote("raceenabled", "ptr", "atomicLoad")+" }; return swapped")
}
