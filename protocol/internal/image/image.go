// Package image turns Go values into canonical bytes and back. Two values have the same bytes if
// and only if no program could tell them apart: pointers are followed, with what is shared and with
// cycles, maps are in the order of their keys, unexported fields count. A codec is compiled once
// for each type.
//
// An image is the image of an interface that holds the value:
//
//   - an integer is a varint; a float is its bytes in memory
//   - a string is its length, and its bytes
//   - a struct or an array is what it is made of, one after the other
//   - an interface is the number of the type, from 1, and the value; nil is 0
//   - a pointer is 0 for nil; 1, and what it points to; 2, and the number of a constant; or the
//     number of memory that came before, plus 3
//   - a slice is like a pointer, with the length after the 1; an empty one is 2, and 0
//   - a map is like a pointer, with its entries in the order of the images of their keys
//   - a function is its number, from 2; nil is 0; a method with its receiver, such as node.tick, is
//     1, the number of the method, and the receiver
//
// If slices share memory in part, the image begins with a 0, which no other image does. Then each
// pointer and slice is a region, as above, and its place in it: offset, length and capacity.
package image

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// Images encodes and decodes values of one model. It numbers what has no bytes of its own: types of
// interfaces, functions, constants. So bytes mean something only to the Images that made them. It
// may be used by several goroutines at a time.
type Images struct {
	mu     sync.RWMutex
	codecs map[reflect.Type]*codec
	// fixed are pointers and functions that stand for themselves.
	fixed     map[fixed]int
	fixedList []fixed
	constants int // how many of them are constants: the first ones
	// types are those of values in interfaces.
	types       []*codec
	typeNumbers map[reflect.Type]int
	// methods are those of method values, by their code.
	methods    map[uintptr]*method
	methodList []*method
	sealed     bool
	renamed    reflect.Type // of the names that a Renaming replaces
	// encodings and decodings are used again, since handlers run one after the other.
	encodings, decodings sync.Pool
}

// Renaming replaces names of nodes in an image. Names are numbers of one type (SetRenamed).
type Renaming struct {
	// To is what each name becomes. Others stay.
	To []int
	// IsMask: some names become the same. Then the image says what a value looks like to somebody
	// who cannot tell these nodes apart. It cannot be decoded.
	IsMask bool
}

// fixed is a constant or a function. Its type is a part of it: a struct and its first field have
// the same address.
type fixed struct {
	p   unsafe.Pointer
	typ reflect.Type
}

// New returns an Images. Constants are pointers that are not followed: what they point to is a part
// of no image, and must not change.
func New(constants ...any) (*Images, error) {
	m := &Images{
		codecs: map[reflect.Type]*codec{}, fixed: map[fixed]int{},
		typeNumbers: map[reflect.Type]int{}, methods: map[uintptr]*method{},
	}
	for _, c := range constants {
		v := reflect.ValueOf(c)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			return nil, fmt.Errorf("a constant is a %T: only pointers can be constants", c)
		}
		m.fix(fixed{v.UnsafePointer(), v.Type()})
	}
	m.constants = len(m.fixedList)
	return m, nil
}

// Seal says that all functions are known. From now on a new one is an error, since a function that
// is made later may carry state that has no image. Those that carry none are known at any time.
func (m *Images) Seal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sealed = true
}

// SetRenamed says of which type names of nodes are. It is called before anything is imaged.
func (m *Images) SetRenamed(t reflect.Type) { m.renamed = t }

// Append appends the image of a value, with its type. An error names the field that has none.
func (m *Images) Append(dst []byte, value any) ([]byte, error) {
	return m.AppendRenamed(dst, value, nil)
}

// AppendRenamed appends the image of what a value becomes if names of nodes are replaced.
func (m *Images) AppendRenamed(dst []byte, value any, renaming *Renaming) ([]byte, error) {
	return m.append(dst, value, renaming, false)
}

// append is what the ways to make an image have in common.
func (m *Images) append(dst []byte, value any, renaming *Renaming, isNamed bool) ([]byte, error) {
	e, _ := m.encodings.Get().(*encoding)
	if e == nil {
		e = &encoding{images: m, regions: map[region]int{}}
	}
	defer m.encodings.Put(e)
	e.renaming, e.isNamed = renaming, isNamed
	e.reset()
	encodeAny.encode(e, unsafe.Pointer(&value))
	// What is shared in part needs a second pass, which knows all of memory.
	if e.err == nil && e.overlaps() {
		groups, err := e.groups()
		e.reset()
		e.groupList, e.err = groups, err
		if err == nil {
			e.out = append(e.out, tagGroups)
			encodeAny.encode(e, unsafe.Pointer(&value))
		}
	}
	if e.err != nil {
		return dst, fmt.Errorf("%T%s: %w", value, e.path, e.err)
	}
	return append(dst, e.out...), nil
}

// Decode makes a new value from an image. It shares no memory with another one, but for constants
// and what functions hold.
func (m *Images) Decode(data []byte) (value any, err error) {
	d, _ := m.decodings.Get().(*decoding)
	if d == nil {
		d = &decoding{}
	}
	defer m.decodings.Put(d)
	// What was decoded before is not held.
	clear(d.regions)
	*d = decoding{images: m, in: data, regions: d.regions[:0]}
	if len(data) > 1 && data[0] == tagGroups {
		d.grouped = true
		d.in = data[1:]
	}
	encodeAny.decode(d, unsafe.Pointer(&value))
	if d.err == nil && len(d.in) > 0 {
		d.err = errTrailing
	}
	if d.err != nil {
		return nil, d.err
	}
	return value, nil
}

// Errors of images. A path to the field comes before them.
var (
	errChannel = errors.New("a channel has no image: keep it out of the node, or name what holds it a " +
		"constant")
	errUnsafe   = errors.New("an unsafe pointer has no image: name what holds it a constant")
	errFunction = errors.New("the function was not there at the start: set functions before the check " +
		"begins")
	errKey       = errors.New("a map whose keys are pointers or NaN has no order: use other keys")
	errShort     = errors.New("the image ends too early")
	errTrailing  = errors.New("the image does not end where the value does")
	errReference = errors.New("the image refers to what is not there")
)

// tagGroups begins an image in which memory is shared in part. Other images begin with the number
// of a type, from 1, but for that of nil, which has nothing after this byte.
const tagGroups = tagNil

// fix gives a constant or a function a number.
func (m *Images) fix(f fixed) int {
	n, ok := m.fixed[f]
	if !ok {
		n = len(m.fixedList)
		m.fixed[f] = n
		m.fixedList = append(m.fixedList, f)
	}
	return n
}

// fixedNumber is the number of a constant or function that is known, or may still become known.
func (m *Images) fixedNumber(f fixed, mayAdd bool) (n int, ok bool) {
	m.mu.RLock()
	n, ok = m.fixed[f]
	m.mu.RUnlock()
	if ok || !mayAdd {
		return n, ok
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Locations of time are few, and made by the standard library; they are known at any time.
	if m.sealed && f.typ.Kind() == reflect.Func && !isDeclared(codeOf(f.p)) {
		return 0, false
	}
	return m.fix(f), true
}

// fixedPointer is the constant or function with a number and a type; nil if there is none.
func (m *Images) fixedPointer(n uint64, t reflect.Type) unsafe.Pointer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n >= uint64(len(m.fixedList)) || m.fixedList[n].typ != t {
		return nil
	}
	return m.fixedList[n].p
}

// typeNumber numbers the types of values in interfaces, from 1.
func (m *Images) typeNumber(t reflect.Type) (n int, c *codec) {
	m.mu.RLock()
	if n = m.typeNumbers[t]; n > 0 {
		c = m.types[n-1]
	}
	m.mu.RUnlock()
	// Types are few, so the lock for writing is hardly ever needed.
	if c != nil {
		return n, c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n = m.typeNumbers[t]; n == 0 {
		m.types = append(m.types, m.compile(t))
		n = len(m.types)
		m.typeNumbers[t] = n
	}
	return n, m.types[n-1]
}

// typeOf is the codec of a number.
func (m *Images) typeOf(n uint64) *codec {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n == 0 || n > uint64(len(m.types)) {
		return nil
	}
	return m.types[n-1]
}
