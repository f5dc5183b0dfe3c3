package image

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

// codec images the values of one type. Pointers are to values of this type. It is compiled before
// it is used for the first time, and then only read.
type codec struct {
	typ    reflect.Type
	slice  reflect.Type // of elements of the type
	encode func(e *encoding, p unsafe.Pointer)
	decode func(d *decoding, p unsafe.Pointer)
}

// encoding is the state of one Append.
type encoding struct {
	images  *Images
	out     []byte
	keys    []byte         // of the maps that are encoded now
	regions map[region]int // memory that has been encoded, and its number
	extents []extent
	// groupList is memory that is shared in part; it is empty in the first pass.
	groupList []group
	// inKey says that what is encoded is a part of a map's key.
	inKey    bool
	renaming *Renaming // nil: names stay
	isNamed  bool      // what has a number by its Images has a name instead
	err      error
	path     string // to where the error is
}

// reset forgets the value before. Memory is kept.
func (e *encoding) reset() {
	clear(e.regions)
	*e = encoding{images: e.images, out: e.out[:0], keys: e.keys[:0], regions: e.regions,
		extents: e.extents[:0], renaming: e.renaming, isNamed: e.isNamed}
}

// fail notes the first error.
func (e *encoding) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// at says where in its surroundings the error is; it is called on the way out.
func (e *encoding) at(step string) { e.path = step + e.path }

// uint writes a number: small ones take one byte.
func (e *encoding) uint(n uint64) { e.out = binary.AppendUvarint(e.out, n) }

// decoding is the state of one Decode.
type decoding struct {
	images  *Images
	in      []byte
	grouped bool
	regions []memory // by number
	err     error
}

// fail notes the first error. Nothing is read after it.
func (d *decoding) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.in = nil
}

// uint reads a number. After an error it is zero.
func (d *decoding) uint() uint64 {
	n, size := binary.Uvarint(d.in)
	if size <= 0 {
		d.fail(errShort)
		return 0
	}
	d.in = d.in[size:]
	return n
}

// length is that of what follows, each of which has at least so many bytes.
func (d *decoding) length(least int) int {
	n := d.uint()
	// A length that no image can have would take all memory.
	if n > uint64(len(d.in)) && least > 0 || n > 1<<24 {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

// bytes reads so many bytes, which are a part of the image. After an error there are none.
func (d *decoding) bytes(n int) []byte {
	if n > len(d.in) {
		d.fail(errShort)
		return nil
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

// compile returns the codec of a type. The caller holds the lock. A type may contain itself, so the
// codec is known before it is complete.
func (m *Images) compile(t reflect.Type) *codec {
	if c, ok := m.codecs[t]; ok {
		return c
	}
	// A type that contains itself finds the codec here.
	c := &codec{typ: t, slice: reflect.SliceOf(t)}
	m.codecs[t] = c
	switch t.Kind() {
	case reflect.Struct:
		m.compileStruct(c)
	case reflect.Array:
		m.compileArray(c)
	case reflect.Pointer:
		m.compilePointer(c)
	case reflect.Slice:
		m.compileSlice(c)
	case reflect.Map:
		compileMap(m, c)
	case reflect.Interface:
		compileInterface(c)
	case reflect.Func:
		compileFunction(c)
	case reflect.Chan:
		compileRefused(c, errChannel)
	case reflect.UnsafePointer:
		compileRefused(c, errUnsafe)
	case reflect.String:
		c.encode, c.decode = encodeString, decodeString
	default:
		compileNumber(c, t == m.renamed)
	}
	return c
}

// compileNumber is for all kinds that are a fixed number of bytes. Their size is that of memory but
// for integers, which are written shorter.
func compileNumber(c *codec, isName bool) {
	switch t := c.typ; t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		// All bits count: programs can tell negative zero from zero.
		size := int(t.Size())
		c.encode = func(e *encoding, p unsafe.Pointer) {
			// NaN is a key that no map finds again.
			if e.inKey && isNaN(t, p) {
				e.fail(errKey)
			}
			e.out = append(e.out, unsafe.Slice((*byte)(p), size)...)
		}
		c.decode = func(d *decoding, p unsafe.Pointer) { copy(unsafe.Slice((*byte)(p), size), d.bytes(size)) }
	case reflect.Bool:
		c.encode = func(e *encoding, p unsafe.Pointer) { e.out = append(e.out, *(*byte)(p)) }
		c.decode = func(d *decoding, p unsafe.Pointer) { *(*bool)(p) = d.uint()&1 != 0 }
	case reflect.Int:
		c.encode = func(e *encoding, p unsafe.Pointer) {
			n := *(*int)(p)
			if r := e.renaming; r != nil && isName && n >= 0 && n < len(r.To) {
				n = r.To[n]
			}
			e.out = binary.AppendVarint(e.out, int64(n))
		}
		c.decode = func(d *decoding, p unsafe.Pointer) { *(*int)(p) = int(unzigzag(d.uint())) }
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.encode = func(e *encoding, p unsafe.Pointer) {
			e.out = binary.AppendVarint(e.out, reflect.NewAt(t, p).Elem().Int())
		}
		c.decode = func(d *decoding, p unsafe.Pointer) {
			reflect.NewAt(t,
				p).Elem().SetInt(unzigzag(d.uint()))
		}
	default: // unsigned
		c.encode = func(e *encoding, p unsafe.Pointer) { e.uint(reflect.NewAt(t, p).Elem().Uint()) }
		c.decode = func(d *decoding, p unsafe.Pointer) { reflect.NewAt(t, p).Elem().SetUint(d.uint()) }
	}
}

// unzigzag is the number that binary.AppendVarint has written.
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// isNaN looks at a number with a point, or at both parts of a complex one.
func isNaN(t reflect.Type, p unsafe.Pointer) bool {
	switch v := reflect.NewAt(t, p).Elem(); t.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.IsNaN(v.Float())
	default:
		return math.IsNaN(real(v.Complex())) || math.IsNaN(imag(v.Complex()))
	}
}

// encodeString writes the length before the bytes.
func encodeString(e *encoding, p unsafe.Pointer) {
	s := *(*string)(p)
	e.uint(uint64(len(s)))
	e.out = append(e.out, s...)
}

// decodeString copies the bytes, so that the image can be forgotten.
func decodeString(d *decoding, p unsafe.Pointer) { *(*string)(p) = string(d.bytes(d.length(1))) }

// compileRefused is for what has no image unless it is nil.
func compileRefused(c *codec, why error) {
	c.encode = func(e *encoding, p unsafe.Pointer) {
		if *(*unsafe.Pointer)(p) != nil {
			e.fail(why)
		}
	}
	c.decode = func(d *decoding, p unsafe.Pointer) {}
}

// field is one of a struct.
type field struct {
	*codec
	offset uintptr
	name   string // with the dot before it
}

// compileStruct leaves out blank fields: nothing can read them.
func (m *Images) compileStruct(c *codec) {
	var fields []field
	for i := range c.typ.NumField() {
		if f := c.typ.Field(i); f.Name != "_" {
			fields = append(fields, field{m.compile(f.Type), f.Offset, "." + f.Name})
		}
	}
	c.encode = func(e *encoding, p unsafe.Pointer) {
		for i := range fields {
			fields[i].encode(e, unsafe.Add(p, fields[i].offset))
			if e.err != nil {
				e.at(fields[i].name)
				return
			}
		}
	}
	c.decode = func(d *decoding, p unsafe.Pointer) {
		for i := range fields {
			fields[i].decode(d, unsafe.Add(p, fields[i].offset))
		}
	}
}

// compileArray needs no length in the image: the type has it.
func (m *Images) compileArray(c *codec) {
	element, n := m.compile(c.typ.Elem()), c.typ.Len()
	c.encode = func(e *encoding, p unsafe.Pointer) { element.encodeAll(e, p, n) }
	c.decode = func(d *decoding, p unsafe.Pointer) { element.decodeAll(d, p, n) }
}

// encodeAll encodes values that lie one after the other in memory.
func (c *codec) encodeAll(e *encoding, p unsafe.Pointer, n int) {
	// Bytes are copied as they lie.
	if c.typ.Kind() == reflect.Uint8 {
		e.out = append(e.out, unsafe.Slice((*byte)(p), n)...)
		return
	}
	for i := range n {
		c.encode(e, unsafe.Add(p, uintptr(i)*c.typ.Size()))
		if e.err != nil {
			e.at("[" + strconv.Itoa(i) + "]")
			return
		}
	}
}

// decodeAll decodes values that lie one after the other in memory.
func (c *codec) decodeAll(d *decoding, p unsafe.Pointer, n int) {
	if c.typ.Kind() == reflect.Uint8 {
		copy(unsafe.Slice((*byte)(p), n), d.bytes(n))
		return
	}
	for i := 0; i < n && d.err == nil; i++ {
		c.decode(d, unsafe.Add(p, uintptr(i)*c.typ.Size()))
	}
}

// isFixed says of a type of pointers whether the standard library tells them apart by address.
func isFixed(t reflect.Type) bool {
	return t == reflect.TypeFor[*time.Location]() || t == reflect.TypeOf(reflect.TypeFor[int]())
}
