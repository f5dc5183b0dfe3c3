package image

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Memory that pointers and slices lead to is encoded where it is met first. Regions are numbered in
// that order, and later pointers to a region are its number. A pointer is like a slice of length 1.
//
// Slices may share memory in part: all[:2] and all. Then what one writes the other sees, and an
// append to the shorter one may overwrite the longer. If there is such memory, a second pass
// encodes it as one region, and slices as places in it.

// Tags of pointers, slices and maps.
const (
	tagNil    = 0
	tagNew    = 1
	tagFixed  = 2 // a constant: its number follows
	firstBack = 3 // the number of a region plus this
)

// region is memory that begins somewhere, with elements of a type. Maps are regions, too.
type region struct {
	start unsafe.Pointer
	typ   *codec
	n     int
}

// extent is the memory that a pointer or slice can reach, up to the capacity. What can be seen ends
// earlier.
type extent struct {
	start, seen, end uintptr
	element          *codec
}

// group is memory of extents that overlap.
type group struct{ extent }

// memory is a decoded region.
type memory struct {
	start unsafe.Pointer
	typ   *codec
	n     int
}

// overlaps says whether memory of two regions overlaps. Extents are sorted.
func (e *encoding) overlaps() bool {
	if len(e.extents) < 2 {
		return false
	}
	slices.SortFunc(e.extents, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var end uintptr
	for _, x := range e.extents {
		if x.start < end {
			return true
		}
		end = max(end, x.end)
	}
	return false
}

// groups joins extents that overlap. They must have elements of the same type, and none may begin
// inside of an element of another.
func (e *encoding) groups() (list []group, err error) {
	for _, x := range e.extents {
		last := len(list) - 1
		if last < 0 || list[last].end <= x.start {
			list = append(list, group{x})
			continue
		}
		g := &list[last]
		// Memory with two meanings would have to be encoded twice.
		if g.element != x.element || (x.start-g.start)%max(1, x.element.typ.Size()) != 0 {
			return nil, fmt.Errorf("a pointer leads into the middle of a value (%v and %v share memory): "+
				"point to the value itself, or keep an index", g.element.typ, x.element.typ)
		}
		g.end, g.seen = max(g.end, x.end), max(g.seen, x.seen)
	}
	return list, nil
}

// groupOf is the group in which an address lies. Extents of all pointers are in one.
func (e *encoding) groupOf(p unsafe.Pointer) *group {
	i, _ := slices.BinarySearchFunc(e.groupList, uintptr(p), func(g group, p uintptr) int {
		switch {
		case g.end <= p:
			return -1
		case g.start > p:
			return 1
		}
		return 0
	})
	return &e.groupList[i]
}

// elements encodes n elements from an address on, of which limit can be reached. It is what
// pointers and slices have in common.
func (c *codec) elements(e *encoding, p unsafe.Pointer, n, limit int) {
	if e.groupList == nil {
		size := c.typ.Size()
		e.region(region{p, c, n}, extent{uintptr(p), uintptr(p) + uintptr(n)*size,
			uintptr(p) + uintptr(limit)*size, c})
		return
	}
	// The second pass: all of the group is the region, and this is a place in it.
	g := e.groupOf(p)
	whole := int((g.seen - g.start) / c.typ.Size())
	offset := int((uintptr(p) - g.start) / c.typ.Size())
	if offset > whole { // nothing of it can be seen
		offset, limit = whole, 0
	}
	e.region(region{unsafe.Add(p, -offset*int(c.typ.Size())), c, whole}, extent{})
	e.uint(uint64(offset))
	e.uint(uint64(n))
	e.uint(uint64(min(limit, whole-offset)))
}

// region encodes memory, or the number that it has already.
func (e *encoding) region(r region, x extent) {
	// A region with other elements or another length is another one, even at the same place.
	if number, ok := e.regions[r]; ok {
		e.uint(uint64(number) + firstBack)
		return
	}
	e.regions[r] = len(e.regions)
	if x.end > x.start {
		e.extents = append(e.extents, x)
	}
	e.out = append(e.out, tagNew)
	e.uint(uint64(r.n))
	r.typ.encodeAll(e, r.start, r.n)
}

// elements decodes what elements has encoded, after the tag.
func (c *codec) decodeElements(d *decoding, tag uint64) (start unsafe.Pointer, n, limit int) {
	// In a first pass a region is what one pointer or slice leads to.
	r := c.decodeRegion(d, tag)
	if !d.grouped || d.err != nil {
		return r.start, r.n, r.n
	}
	offset, n, limit := int(d.uint()), int(d.uint()), int(d.uint())
	if offset < 0 || offset > r.n || limit < 0 || limit > r.n-offset || n < 0 || n > limit {
		d.fail(errReference)
		return nil, 0, 0
	}
	return unsafe.Add(r.start, uintptr(offset)*c.typ.Size()), n, limit
}

// decodeRegion is memory that comes here for the first time, or that has a number.
func (c *codec) decodeRegion(d *decoding, tag uint64) memory {
	if tag >= firstBack {
		if tag-firstBack >= uint64(len(d.regions)) || d.regions[tag-firstBack].typ != c {
			d.fail(errReference)
			return memory{}
		}
		return d.regions[tag-firstBack]
	}
	least := 1
	if c.typ.Size() == 0 {
		least = 0
	}
	n := d.length(least)
	if d.err != nil {
		return memory{}
	}
	// Elements may refer to this region, so it is known before they are decoded.
	r := memory{reflect.MakeSlice(c.slice, n, n).UnsafePointer(), c, n}
	d.regions = append(d.regions, r)
	c.decodeAll(d, r.start, n)
	return r
}

// compilePointer does not tell pointers to nothing apart: Go does not say whether they are equal.
func (m *Images) compilePointer(c *codec) {
	always := isFixed(c.typ)
	element := &codec{typ: c.typ.Elem()}
	if !always {
		element = m.compile(c.typ.Elem())
	}
	c.encode = func(e *encoding, at unsafe.Pointer) {
		p := *(*unsafe.Pointer)(at)
		if p == nil {
			e.out = append(e.out, tagNil)
			return
		}
		if e.inKey {
			e.fail(errKey)
			return
		}
		if number, ok := e.images.fixedNumber(fixed{p, c.typ}, always); ok {
			e.out = append(e.out, tagFixed)
			if e.isNamed && always {
				e.name(nameOfFixed(reflect.NewAt(c.typ, at).Elem().Interface()))
			} else {
				e.uint(uint64(number))
			}
			return
		}
		// Nothing can be written there, so sharing does not show.
		if element.typ.Size() == 0 {
			e.out = append(e.out, tagNew)
			return
		}
		element.elements(e, p, 1, 1)
		e.path = strings.TrimPrefix(e.path, "[0]") // it is no slice
	}
	c.decode = func(d *decoding, at unsafe.Pointer) {
		switch tag := d.uint(); {
		case tag == tagNil:
		case tag == tagFixed:
			*(*unsafe.Pointer)(at) = d.images.fixedPointer(d.uint(), c.typ)
		case element.typ.Size() == 0:
			*(*unsafe.Pointer)(at) = reflect.New(element.typ).UnsafePointer()
		default:
			if start, n, _ := element.decodeElements(d, tag); n == 1 {
				*(*unsafe.Pointer)(at) = start
			} else {
				d.fail(errReference)
			}
		}
	}
}

// slice is how a slice lies in memory.
type slice struct {
	start    unsafe.Pointer
	len, cap int
}

// compileSlice tells nil from empty, as programs can. Capacity counts where memory is shared.
func (m *Images) compileSlice(c *codec) {
	element := m.compile(c.typ.Elem())
	c.encode = func(e *encoding, at unsafe.Pointer) {
		switch s := (*slice)(at); {
		case s.start == nil:
			e.out = append(e.out, tagNil)
		case s.cap == 0 || element.typ.Size() == 0:
			// It shares nothing.
			e.out = append(e.out, tagFixed)
			e.uint(uint64(s.len))
		case s.len == 0 && e.groupList == nil:
			e.out = append(e.out, tagFixed, 0)
			start := uintptr(s.start)
			e.extents = append(e.extents, extent{start, start, start + uintptr(s.cap)*element.typ.Size(),
				element})
		default:
			element.elements(e, s.start, s.len, s.cap)
		}
	}
	c.decode = func(d *decoding, at unsafe.Pointer) {
		// The place is new, and holds nil.
		s := (*slice)(at)
		switch tag := d.uint(); tag {
		case tagNil:
		case tagFixed:
			n := d.length(0)
			if element.typ.Size() > 0 {
				n = 0
			}
			// Elements without a size have nothing but their number.
			made := reflect.MakeSlice(c.typ, n, n)
			*s = slice{made.UnsafePointer(), n, n}
		default:
			start, n, limit := element.decodeElements(d, tag)
			*s = slice{start, n, limit}
		}
	}
}
