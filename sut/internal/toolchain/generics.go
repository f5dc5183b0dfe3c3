package toolchain

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// atomicInstances says which packages, beside those that import sync/atomic, may contain calls of
// its functions: a generic function is compiled where it is instantiated, with the flags of that
// package. Of equal instances the linker keeps any. So it returns the packages that depend on one
// outside of the standard library with a generic function that calls them. (Methods of the types of
// sync/atomic do not matter: see editAtomicTypes. The standard library has no such function, as a
// test makes sure.)
func atomicInstances(packages []listedPackage) (map[string]bool, error) {
	instances := map[string]bool{}
	for i := range packages { // what a package imports is listed before it
		p := &packages[i]
		if p.Standard {
			continue
		}
		if slices.ContainsFunc(p.Imports, func(path string) bool { return instances[path] }) {
			instances[p.ImportPath] = true
			continue
		}
		if !slices.Contains(p.Imports, "sync/atomic") {
			continue
		}
		for _, name := range p.GoFiles {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			generic, err := callsAtomicsGenerically(name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
			}
			if generic {
				instances[p.ImportPath] = true
				break
			}
		}
	}
	return instances, nil
}

// callsAtomicsGenerically reports whether a generic function of a file mentions a function of
// sync/atomic. It looks at names only: a local variable called atomic counts, and then some code is
// slower than it need be.
func callsAtomicsGenerically(path string) (bool, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	name := ""
	for _, i := range tree.Imports {
		if i.Path.Value == `"sync/atomic"` {
			name = "atomic"
			if i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	if name == "" {
		return false, nil
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && isGeneric(f) && mentionsAtomic(f, name) {
			return true, nil
		}
	}
	return false, nil
}

// isGeneric reports whether a function, or the type that it is a method of, has type parameters.
func isGeneric(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Type.TypeParams != nil
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.ParenExpr:
			t = x.X
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr, *ast.IndexListExpr:
			return true
		default:
			return f.Type.TypeParams != nil
		}
	}
}

// mentionsAtomic reports whether a function of sync/atomic is used; name is the package's in the
// file, which is a dot if it has none.
func mentionsAtomic(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			id, ok := x.X.(*ast.Ident)
			found = found || ok && id.Name == name && isAtomicFunction(x.Sel.Name)
		case *ast.Ident:
			found = found || name == "." && isAtomicFunction(x.Name)
		}
		return !found
	})
	return found
}

// isAtomicFunction reports whether sync/atomic has a function of that name, and not only a type.
func isAtomicFunction(name string) bool {
	for _, operation := range []string{"Load", "Store", "Swap", "CompareAndSwap", "Add", "And", "Or"} {
		if typ, ok := strings.CutPrefix(name, operation); ok {
			return typ == "Pointer" || atomicTypes[strings.ToLower(typ)].operand != ""
		}
	}
	return false
}
