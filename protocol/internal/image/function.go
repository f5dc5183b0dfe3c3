package image

import (
	"reflect"
	"runtime"
	"strings"
	"unsafe"
)

// A function in a variable is a pointer to its code, behind which lies what it has captured. The
// image is that of one of three:
//
//   - a declared function has captured nothing, so it is known by its address
//   - a method value, such as node.tick, has captured its receiver, which is imaged like a pointer
//   - any other is known by its address, and has to be there before the check begins
//
// Which one it is shows in the name that the compiler gives to the code.

// methodValue is how a method value lies in memory. The receiver is a pointer.
type methodValue struct {
	code     uintptr
	receiver unsafe.Pointer
}

// method is one whose values are imaged with their receivers.
type method struct {
	code     uintptr
	number   int
	receiver *codec // of the pointer
}

// Tags of functions.
const (
	tagMethod     = 1
	firstFunction = 2 // the number of a function plus this
)

// codeOf is the code of a function.
func codeOf(function unsafe.Pointer) uintptr { return *(*uintptr)(function) }

// nameOf is the name of a function; empty if it has none. Where the beginning of a function is
// inlined from another one, the runtime names that one, by a new description each time. Then the
// name stands at a later instruction.
func nameOf(code uintptr) string {
	for pc := code; ; pc++ {
		f := runtime.FuncForPC(pc)
		if f == nil || f.Entry() != code {
			return ""
		}
		if f == runtime.FuncForPC(pc) {
			return f.Name()
		}
	}
}

// isDeclared says whether code is that of a function declared by name, which captures nothing.
// Names of literals and methods have a further part, those of method values and bodies of loops a
// dash, and those of generic functions brackets. What reflection makes has the name of its code.
func isDeclared(code uintptr) bool {
	name := nameOf(code)
	pkg, name, ok := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	return ok && pkg != "reflect" && name != "" && !strings.ContainsAny(name, ".-[")
}

// compileFunction images what a method value has captured. What a literal has captured is not seen.
func compileFunction(c *codec) {
	c.encode = func(e *encoding, p unsafe.Pointer) {
		function := *(*unsafe.Pointer)(p)
		if function == nil {
			e.out = append(e.out, tagNil)
			return
		}
		f := fixed{function, c.typ}
		number, ok := e.images.fixedNumber(f, false)
		if !ok {
			if m := methodOf(e.images, codeOf(function)); m != nil {
				e.out = append(e.out, tagMethod)
				if e.isNamed {
					e.name(nameOf(m.code))
				} else {
					e.uint(uint64(m.number))
				}
				m.receiver.encode(e, unsafe.Pointer(&(*methodValue)(function).receiver))
				return
			}
			number, ok = e.images.fixedNumber(f, true)
		}
		if !ok {
			e.fail(errFunction)
			return
		}
		// All that is not declared was numbered before the check began, in the order of images.
		if code := codeOf(function); e.isNamed && isDeclared(code) {
			e.out = append(e.out, firstFunction)
			e.name(nameOf(code))
			return
		}
		e.uint(uint64(number) + firstFunction)
	}
	c.decode = func(d *decoding, p unsafe.Pointer) {
		switch tag := d.uint(); tag {
		case tagNil:
		case tagMethod:
			m := methodWith(d.images, d.uint())
			if m == nil {
				d.fail(errReference)
				return
			}
			made := &methodValue{code: m.code}
			m.receiver.decode(d, unsafe.Pointer(&made.receiver))
			*(*unsafe.Pointer)(p) = unsafe.Pointer(made)
		default:
			*(*unsafe.Pointer)(p) = d.images.fixedPointer(tag-firstFunction, c.typ)
		}
	}
}

// methodOf is the method whose values have this code; nil if the code is none of a method with a
// pointer as its receiver, or if the type of the receiver is not known.
func methodOf(m *Images, code uintptr) *method {
	m.mu.RLock()
	known := m.methods[code]
	m.mu.RUnlock()
	if known != nil {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known = m.methods[code]; known != nil {
		return known
	}
	receiver := receiverOf(m, nameOf(code))
	if receiver == nil {
		return nil
	}
	known = &method{code, len(m.methodList), m.compile(reflect.PointerTo(receiver))}
	m.methods[code] = known
	m.methodList = append(m.methodList, known)
	return known
}

// receiverOf finds the type of a receiver by the name of a method value: path.(*Type).method-fm. A
// state that has the method value has, as a rule, met the type as well. The caller holds the lock.
func receiverOf(m *Images, name string) (receiver reflect.Type) {
	owner, _, ok := strings.Cut(name, ").")
	if !ok || !strings.HasSuffix(name, "-fm") {
		return nil
	}
	for t := range m.codecs {
		if t.Name() == "" || symbol(t) != owner {
			continue
		}
		// Types of different functions may have one name.
		if receiver != nil {
			return nil
		}
		receiver = t
	}
	return receiver
}

// symbol is how a type begins the names of methods of pointers to it. Dots in the last part of the
// path are written as the linker does.
func symbol(t reflect.Type) string {
	path := t.PkgPath()
	last := strings.LastIndexByte(path, '/') + 1
	return path[:last] + strings.ReplaceAll(path[last:], ".", "%2e") + ".(*" + t.Name()
}

// methodWith is the method with a number; nil if there is none.
func methodWith(m *Images, number uint64) *method {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if number >= uint64(len(m.methodList)) {
		return nil
	}
	return m.methodList[number]
}
