package image

import (
	"errors"
	"fmt"
	"reflect"
)

// Images that are written to a file are read by other Images, which may number types differently.
// So the file has the names of the types, in the order of their numbers. Constants are known on
// both sides, in the same order. Other functions have no name by which they could be found again.

// errIdentity is of images that only these Images can read.
var errIdentity = errors.New("a node keeps a function, or a location of time, which no other program " +
	"can read: name what holds it a constant")

// TypeNames are the names of the types that have numbers, from 1. An error says that images may
// refer to functions.
func TypeNames(m *Images) (names []string, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.fixedList) > m.constants || len(m.methodList) > 0 {
		return nil, errIdentity
	}
	// The order is that of the numbers.
	for _, c := range m.types {
		names = append(names, nameOfType(c.typ))
	}
	return names, nil
}

// SetTypeNames gives types their numbers, from 1, before anything else has. They are found among
// those of some values, with all types that these are made of.
func SetTypeNames(m *Images, names []string, values ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range values {
		if v != nil {
			m.compile(reflect.TypeOf(v))
		}
	}
	// Names are those of all types that have a codec now.
	known := map[string]reflect.Type{}
	for t := range m.codecs {
		name := nameOfType(t)
		if other, ok := known[name]; ok && other != t {
			t = nil // types of two functions have one name
		}
		known[name] = t
	}
	for _, name := range names {
		t := known[name]
		if t == nil {
			return fmt.Errorf("there is a value of type %s, which no node is made of: give one as an "+
				"argument", name)
		}
		m.types = append(m.types, m.compile(t))
		m.typeNumbers[t] = len(m.types)
	}
	return nil
}

// AppendNamed appends an image in which types and functions have their names in place of numbers.
// So it is the same in all processes, and it can be compared, but not decoded. Two values have the
// same one if and only if they have the same image, but for types of one name in two functions, and
// for locations of time of one name.
func AppendNamed(m *Images, dst []byte, value any) ([]byte, error) {
	return m.append(dst, value, nil, true)
}

// name writes a name in place of a number.
func (e *encoding) name(s string) {
	e.uint(uint64(len(s)))
	e.out = append(e.out, s...)
}

// nameOfFixed is the name of a type or a location of time.
func nameOfFixed(value any) string {
	if t, ok := value.(reflect.Type); ok {
		return nameOfType(t)
	}
	return value.(fmt.Stringer).String()
}

// nameOfType is the name of a type with its whole path.
func nameOfType(t reflect.Type) string {
	switch {
	case t.Name() != "" && t.PkgPath() != "":
		return t.PkgPath() + "." + t.Name()
	case t.Name() == "" && t.Kind() == reflect.Pointer:
		return "*" + nameOfType(t.Elem())
	case t.Name() == "" && t.Kind() == reflect.Slice:
		return "[]" + nameOfType(t.Elem())
	case t.Name() == "" && t.Kind() == reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), nameOfType(t.Elem()))
	case t.Name() == "" && t.Kind() == reflect.Map:
		return "map[" + nameOfType(t.Key()) + "]" + nameOfType(t.Elem())
	}
	return t.String()
}
