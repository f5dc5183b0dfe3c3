package show

import (
	"fmt"
	"reflect"
)

// Field is a part of a value: a number, a text, or something else that is one line.
type Field struct{ Path, Value string }

// maxFields is how many there are of one value.
const maxFields = 500

// Fields lists all parts of a value, as Changes would name them. Pages can scroll, so there are far
// more than in a chart.
func Fields(value any) []Field {
	f := fields{visited: map[uintptr]bool{}}
	f.list("", reflect.ValueOf(value))
	if n := len(f.found); n > maxFields {
		f.found = append(f.found[:maxFields-1], Field{"", fmt.Sprintf("and %d more", n-maxFields+1)})
	}
	return f.found
}

// fields is the state of a listing.
type fields struct {
	found   []Field
	visited map[uintptr]bool
}

// list goes down into a value. What is empty, or would be a list of one line each, is one line.
func (f *fields) list(path string, v reflect.Value) {
	if len(f.found) > 2*maxFields || !v.IsValid() {
		f.leaf(path, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		// A cycle ends where it has been before.
		if v.IsNil() || f.visited[v.Pointer()] {
			f.leaf(path, reflect.Value{})
			return
		}
		f.visited[v.Pointer()] = true
		f.list(path, v.Elem())
	case reflect.Interface:
		f.list(path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f.list(join(path, v.Type().Field(i).Name), v.Field(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			f.leaf(path, v)
		}
		for _, key := range sortedKeys(v) {
			f.list(path+"["+text(key)+"]", v.MapIndex(key))
		}
	case reflect.Slice, reflect.Array:
		if isFlat(v.Type().Elem().Kind()) || v.Len() == 0 {
			f.leaf(path, v)
			return
		}
		for i := range v.Len() {
			f.list(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		f.leaf(path, v)
	}
}

// isFlat says of elements that a list of them is one line.
func isFlat(k reflect.Kind) bool { return k <= reflect.Complex128 || k == reflect.String }

// leaf adds a line.
func (f *fields) leaf(path string, v reflect.Value) {
	value := "nil"
	if v.IsValid() {
		value = text(v)
	}
	f.found = append(f.found, Field{path, value})
}
