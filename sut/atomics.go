package sut

import (
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
	imports := "import (\n\tia \"internal/runtime/atomic\"\n"
	if first {
		e.swap("", "import (\n", imports)
		e.add(pointDeclaration)
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
// internal/runtime/atomic has for it, and to the type of its Xadd delta.
var atomicTypes = map[string]struct{ operand, suffix, delta, mask string }{
	"int32":   {"uint32", "", "int32", "32"},
	"uint32":  {"uint32", "", "int32", "32"},
	"int64":   {"uint64", "64", "int64", "64"},
	"uint64":  {"uint64", "64", "int64", "64"},
	"uintptr": {"uintptr", "uintptr", "uintptr", "uintptr"},
}

func atomicBody(f *ast.FuncDecl) string {
	name := f.Name.Name
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr).X.(*ast.Ident)
	if !ok { // unsafe.Pointer
		if name != "LoadPointer" {
			return ""
		}
		return " { " + pointCall(opLoad, "addr", "nil") + "; return ia.Loadp(unsafe.Pointer(addr)) }"
	}
	t := atomicTypes[pointer.Name]
	operation := name[:strings.IndexAny(name, "IU")]
	addr := "(*" + t.operand + ")(unsafe.Pointer(addr))"
	convert := func(x string) string { return t.operand + "(" + x + ")" }
	op, body := opUpdate, ""
	switch operation {
	case "Load":
		op, body = opLoad, "return "+pointer.Name+"(ia.Load"+t.suffix+"("+addr+"))"
	case "Store":
		op, body = opStore, "ia.Store"+t.suffix+"("+addr+", "+convert("val")+")"
	case "Swap":
		body = "return " + pointer.Name + "(ia.Xchg" + t.suffix + "(" + addr + ", " + convert("new") + "))"
	case "CompareAndSwap":
		body = "return ia.Cas" + t.suffix + "(" + addr + ", " + convert("old") + ", " + convert("new") + ")"
	case "Add":
		body = "return " + pointer.Name + "(ia.Xadd" + t.suffix + "(" + addr + ", " + t.delta + "(delta)))"
	case "And", "Or":
		body = "return " + pointer.Name + "(ia." + operation + t.mask + "(" + addr + ", " + convert("mask") + "))"
	}
	return " { " + pointCall(op, "addr", "nil") + "; " + body + " }"
}

// editAtomicPointers adds the points of the pointer operations, which live in
// package runtime for the sake of the garbage collector, and keeps them from
// passing a second one in the uintptr operations that they are made of.
func editAtomicPointers(e *editor) {
	const address = "(*uintptr)(noescape(unsafe.Pointer(ptr)))"
	e.point("sync_atomic_StorePointer", opStore, "ptr", "nil")
	e.swap("sync_atomic_StorePointer", "sync_atomic_StoreUintptr((*uintptr)(unsafe.Pointer(ptr)), uintptr(new))",
		"atomic.StorepNoWB(unsafe.Pointer(ptr), new)")
	e.point("sync_atomic_SwapPointer", opUpdate, "ptr", "nil")
	e.swap("sync_atomic_SwapPointer", "sync_atomic_SwapUintptr("+address+", uintptr(new))",
		"atomic.Xchguintptr("+address+", uintptr(new))")
	e.point("sync_atomic_CompareAndSwapPointer", opUpdate, "ptr", "nil")
	e.swap("sync_atomic_CompareAndSwapPointer", "sync_atomic_CompareAndSwapUintptr("+address+", uintptr(old), uintptr(new))",
		"atomic.Casuintptr("+address+", uintptr(old), uintptr(new))")
}
