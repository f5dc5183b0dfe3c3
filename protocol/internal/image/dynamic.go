package image

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// encodeAny is the codec of values whose type is not known. It needs no Images to be compiled.
var encodeAny = newAny()

// newAny compiles encodeAny.
func newAny() *codec {
	c := &codec{typ: reflect.TypeFor[any]()}
	compileInterface(c)
	return c
}

// compileInterface writes the number of the type, and then the value. A value in an interface
// cannot be changed, so it is copied where it has to have an address.
func compileInterface(c *codec) {
	c.encode = func(e *encoding, p unsafe.Pointer) {
		value := reflect.NewAt(c.typ, p).Elem().Elem()
		if !value.IsValid() {
			e.out = append(e.out, tagNil)
			return
		}
		number, dynamic := e.images.typeNumber(value.Type())
		if e.isNamed {
			e.name(nameOfType(value.Type()))
		} else {
			e.uint(uint64(number))
		}
		// The copy lies in memory of its own, to which no pointer leads.
		place := reflect.New(value.Type())
		place.Elem().Set(value)
		dynamic.encode(e, place.UnsafePointer())
	}
	c.decode = func(d *decoding, p unsafe.Pointer) {
		number := d.uint()
		if number == tagNil {
			return
		}
		dynamic := d.images.typeOf(number)
		// Bytes that are no image may name any type.
		if dynamic == nil || !dynamic.typ.AssignableTo(c.typ) {
			d.fail(errReference)
			return
		}
		place := reflect.New(dynamic.typ)
		dynamic.decode(d, place.UnsafePointer())
		reflect.NewAt(c.typ, p).Elem().Set(place.Elem())
	}
}

// entry is one of a map: the bytes of its key, and where the value is.
type entry struct {
	key   []byte
	index int
}

// compileMap writes entries in the order of the bytes of their keys. Keys have no pointers, so that
// their bytes do not depend on the order.
func compileMap(m *Images, c *codec) {
	key, value := m.compile(c.typ.Key()), m.compile(c.typ.Elem())
	keys, values := reflect.SliceOf(key.typ), reflect.SliceOf(value.typ)
	c.encode = func(e *encoding, p unsafe.Pointer) {
		v := reflect.NewAt(c.typ, p).Elem()
		if v.IsNil() {
			e.out = append(e.out, tagNil)
			return
		}
		r := region{v.UnsafePointer(), c, 0}
		if number, ok := e.regions[r]; ok {
			e.uint(uint64(number) + firstBack)
			return
		}
		e.regions[r] = len(e.regions)
		e.out = append(e.out, tagNew)
		n := v.Len()
		e.uint(uint64(n))
		// Reflection hands out copies, which need a place.
		k, w := reflect.MakeSlice(keys, n, n), reflect.MakeSlice(values, n, n)
		for i, iter := 0, v.MapRange(); iter.Next(); i++ {
			k.Index(i).SetIterKey(iter)
			w.Index(i).SetIterValue(iter)
		}
		if e.renaming != nil && e.renaming.IsMask {
			encodeMasked(e, key, value, k, w)
			return
		}
		// A value may be a map.
		before := len(e.keys)
		defer func() { e.keys = e.keys[:before] }()
		for _, x := range key.sorted(e, k) {
			e.out = append(e.out, x.key...)
			value.encode(e, w.Index(x.index).Addr().UnsafePointer())
			if e.err != nil {
				e.at(fmt.Sprintf("[%v]", k.Index(x.index)))
				return
			}
		}
	}
	c.decode = func(d *decoding, p unsafe.Pointer) { decodeMap(d, p, c, key, value) }
}

// encodeMasked writes entries whose keys may have become equal. Each is encoded as if there were no
// other, and they are sorted as a whole. So which one a map hands out first does not matter.
func encodeMasked(e *encoding, key, value *codec, keys, values reflect.Value) {
	before, out := e.regions, e.out
	entries := make([][]byte, keys.Len())
	for i := range entries {
		e.regions, e.out = maps.Clone(before), nil
		key.encode(e, keys.Index(i).Addr().UnsafePointer())
		value.encode(e, values.Index(i).Addr().UnsafePointer())
		entries[i] = e.out
	}
	slices.SortFunc(entries, bytes.Compare)
	e.regions, e.out = before, out
	for _, x := range entries {
		e.uint(uint64(len(x)))
		e.out = append(e.out, x...)
	}
}

// sorted encodes keys by themselves, and sorts them. Their bytes lie behind those that there were
// in e.keys before.
func (c *codec) sorted(e *encoding, keys reflect.Value) []entry {
	// Pointers are refused in keys, so no region is met here.
	entries := make([]entry, keys.Len())
	out, inKey := e.out, e.inKey
	e.out, e.inKey = e.keys, true
	for i := range entries {
		from := len(e.out)
		c.encode(e, keys.Index(i).Addr().UnsafePointer())
		entries[i] = entry{e.out[from:len(e.out):len(e.out)], i}
	}
	e.keys, e.out, e.inKey = e.out, out, inKey
	if e.err != nil {
		return nil
	}
	slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	return entries
}

// decodeMap makes a map, or finds the one with a number. It has that number before its entries are
// decoded, since they may refer to it.
func decodeMap(d *decoding, p unsafe.Pointer, c, key, value *codec) {
	switch tag := d.uint(); {
	case tag == tagNil:
		return
	case tag >= firstBack:
		if tag-firstBack >= uint64(len(d.regions)) || d.regions[tag-firstBack].typ != c {
			d.fail(errReference)
			return
		}
		*(*unsafe.Pointer)(p) = d.regions[tag-firstBack].start
		return
	}
	n := d.length(0)
	// A length beyond the bytes that are left is not believed.
	made := reflect.MakeMapWithSize(c.typ, min(n, len(d.in)))
	*(*unsafe.Pointer)(p) = made.UnsafePointer()
	d.regions = append(d.regions, memory{made.UnsafePointer(), c, 0})
	// The map copies keys and values.
	k, v := reflect.New(key.typ), reflect.New(value.typ)
	for i := 0; i < n && d.err == nil; i++ {
		k.Elem().SetZero()
		v.Elem().SetZero()
		key.decode(d, k.UnsafePointer())
		value.decode(d, v.UnsafePointer())
		// An interface may hold what no map takes as a key.
		if d.err == nil && !k.Elem().Comparable() {
			d.fail(errReference)
		}
		if d.err == nil {
			made.SetMapIndex(k.Elem(), v.Elem())
		}
	}
}
