// Package show writes values, changes of values, and message sequence charts for people.
package show

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is written of a value.
const (
	maxDepth    = 6
	maxElements = 16
	maxChanges  = 12
)

// Value writes a value in one line, in the manner of Go. Pointers are followed, so that the text is
// the same each time.
func Value(value any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(value), maxDepth, true)
	return b.String()
}

// write writes a value; with its type, if that is not clear from what it is in.
func write(b *strings.Builder, v reflect.Value, depth int, typed bool) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if depth == 0 {
		b.WriteString("...")
		return
	}
	if text, ok := ownText(v); ok {
		b.WriteString(text)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		write(b, v.Elem(), depth-1, typed || v.Kind() == reflect.Interface)
	case reflect.Struct:
		writeStruct(b, v, depth, typed)
	case reflect.Slice, reflect.Array:
		writeList(b, v, depth)
	case reflect.Map:
		writeMap(b, v, depth)
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	// Addresses differ from run to run.
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		b.WriteString(v.Type().String())
	default:
		fmt.Fprint(b, v)
	}
}

// ownText is what a value says of itself. Numbers with names are the usual case; others may print
// more than one line, or need what is hidden.
func ownText(v reflect.Value) (text string, ok bool) {
	isNumber := v.CanInt() || v.CanUint()
	if !isNumber || !v.CanInterface() {
		return "", false
	}
	s, ok := v.Interface().(fmt.Stringer)
	if !ok {
		return "", false
	}
	return s.String(), true
}

// writeStruct leaves out fields that are zero.
func writeStruct(b *strings.Builder, v reflect.Value, depth int, typed bool) {
	if typed {
		b.WriteString(v.Type().Name())
	}
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		// Most fields of large structs are zero, and say nothing.
		// A struct of one field is like the value in it.
		if v.Field(i).IsZero() && v.NumField() > 1 {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(v.Type().Field(i).Name + ":")
		write(b, v.Field(i), depth-1, false)
	}
	b.WriteByte('}')
}

// writeList writes bytes as text, and no more than the first elements of others.
func writeList(b *strings.Builder, v reflect.Value, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
		b.WriteString(strconv.Quote(string(v.Bytes())))
		return
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == maxElements {
			fmt.Fprintf(b, "... %d more", v.Len()-i)
			break
		}
		write(b, v.Index(i), depth-1, false)
	}
	b.WriteByte(']')
}

// writeMap writes entries in the order of their keys.
func writeMap(b *strings.Builder, v reflect.Value, depth int) {
	b.WriteByte('{')
	for i, key := range sortedKeys(v) {
		if i > 0 {
			b.WriteByte(' ')
		}
		write(b, key, depth-1, false)
		b.WriteByte(':')
		write(b, v.MapIndex(key), depth-1, false)
	}
	b.WriteByte('}')
}

// sortedKeys are the keys of a map, numbers by value and others by their text.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		}
		return cmp.Compare(text(a), text(b))
	})
	return keys
}

// text is a value in one line, without its type.
func text(v reflect.Value) string {
	var b strings.Builder
	write(&b, v, maxDepth, false)
	return b.String()
}

// Changes lists what differs between two values of one type, as "path: before -> after". There are
// not more than a screen can hold.
func Changes(before, after any) []string {
	c := changes{visited: map[[2]uintptr]bool{}}
	c.compare("", reflect.ValueOf(before), reflect.ValueOf(after))
	if n := len(c.list); n > maxChanges {
		c.list = append(c.list[:maxChanges-1], fmt.Sprintf("and %d more changes", n-maxChanges+1))
	}
	return c.list
}

// changes is the state of a comparison.
type changes struct {
	list    []string
	visited map[[2]uintptr]bool
}

// compare goes down into two values as long as they have the same shape. Where they have not, it
// writes both.
func (c *changes) compare(path string, a, b reflect.Value) {
	// One of them is nil, or an interface holds another type.
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		c.leaf(path, a, b)
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			c.leaf(path, a, b)
			return
		}
		// A cycle ends where it has been before.
		pair := [2]uintptr{a.Pointer(), b.Pointer()}
		if pair[0] != pair[1] && !c.visited[pair] {
			c.visited[pair] = true
			c.compare(path, a.Elem(), b.Elem())
		}
	case reflect.Interface:
		c.compare(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			c.compare(join(path, a.Type().Field(i).Name), a.Field(i), b.Field(i))
		}
	case reflect.Map:
		c.compareMaps(path, a, b)
	case reflect.Slice, reflect.Array:
		// Elements are compared one by one if their number is the same; else all are written.
		isText := a.Type().Elem().Kind() == reflect.Uint8
		if a.Len() != b.Len() || isText {
			c.leaf(path, a, b)
			return
		}
		for i := range a.Len() {
			c.compare(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
		}
	default:
		c.leaf(path, a, b)
	}
}

// compareMaps goes through the keys of both.
func (c *changes) compareMaps(path string, a, b reflect.Value) {
	for _, key := range sortedKeys(a) {
		c.compare(path+"["+text(key)+"]", a.MapIndex(key), b.MapIndex(key))
	}
	for _, key := range sortedKeys(b) {
		if !a.MapIndex(key).IsValid() {
			c.leaf(path+"["+text(key)+"]", reflect.Value{}, b.MapIndex(key))
		}
	}
}

// leaf compares by text. What a map does not have is a dash.
func (c *changes) leaf(path string, a, b reflect.Value) {
	// What has no text differs in nothing that can be shown.
	before, after := "-", "-"
	if a.IsValid() {
		before = text(a)
	}
	if b.IsValid() {
		after = text(b)
	}
	if before != after {
		c.list = append(c.list, fmt.Sprintf("%s: %s -> %s", path, before, after))
	}
}

// join adds a field to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// ShortPath makes texts that do not depend on where the module lies: the end of a path, which is
// the file and its directory.
func ShortPath(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
