// Package deephash hashes values by all that they hold. What pointers lead to is followed, so two
// values with the same shape and contents have the same hash, wherever they are in memory.
package deephash

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Hash is that of a value: 128 bits, so that different values have the same one only by a chance of
// about n²/2^129 among n of them.
type Hash [2]uint64

// The most that a value can hold.
const (
	MaxParts = 1 << 20 // numbers, strings, fields, elements and the like
	MaxDepth = 1 << 12 // of values within each other, pointers left out
)

// Error says why a value has no hash.
type Error struct {
	Path string // where in the value, such as ".queue[3].done"
	Why  string
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.Why }

// Sum hashes a value. Unexported fields count, fields named _ do not. What several pointers lead to
// is told apart from copies of it. The order of maps does not count. All NaNs are equal; -0 is not
// 0. A nil slice or map is not an empty one. A time has its location by name.
//
// Functions, channels and unsafe pointers have no hash unless they are nil. Nor has a map with keys
// that differ only by where they point to. The error is an *Error. Not seen is whether pointers or
// slices lead into the same array, if it is to different elements.
//
// Sum reads memory and writes none of it. A value that changes meanwhile has any hash.
func Sum(x any) (Hash, error) {
	w := &walker{numbers: make(map[reference]uint64)}
	w.hash = Hash{0x6a09e667f3bcc908, 0xbb67ae8584caa73b}
	w.dynamic(reflect.ValueOf(x), nil)
	w.rest()
	if w.failed != nil {
		return Hash{}, w.failed
	}
	return w.hash, nil
}

// walker goes through a value. It begins with what is there without pointers. Then it follows them
// in the order in which it has found them. So a long list takes no deep stack.
type walker struct {
	hash    Hash
	numbers map[reference]uint64 // of what pointers lead to, in the order in which it was found
	outer   *walker              // that a part of the value is hashed for by itself; else nil
	queue   []target
	parts   int // that were looked at
	depth   int
	failed  *Error
}

// reference is where a pointer leads to, and as what.
type reference struct {
	at     unsafe.Pointer
	typ    reflect.Type
	length int // of a slice
}

// target is a value that is still to be hashed.
type target struct {
	v    reflect.Value
	path *step
}

// step is the last step of the way to a part of a value.
type step struct {
	before *step
	name   string
	index  int // if there is no name
}

// String is the way, in the words of Go.
func (s *step) String() string {
	var steps []string
	const most = 32
	for ; s != nil && len(steps) < most; s = s.before {
		if s.name != "" {
			steps = append(steps, s.name)
		} else {
			steps = append(steps, fmt.Sprintf("[%d]", s.index))
		}
	}
	slices.Reverse(steps)
	return strings.Join(steps, "")
}

// add mixes a word into the hash.
func (w *walker) add(n uint64) {
	w.hash[0] = mix(w.hash[0]^n, 0x9e3779b97f4a7c15)
	w.hash[1] = mix(w.hash[1]+n, 0xd1b54a32d192ed03)
}

// mix is the finaliser of splitmix64, after an increment.
func mix(z, increment uint64) uint64 {
	z = z*0xff51afd7ed558ccd + increment
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// text mixes a string in. Its length comes first, so that no two rows of strings look the same.
func (w *walker) text(s string) {
	w.add(uint64(len(s)))
	for len(s) >= 8 {
		w.add(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	last := uint64(0)
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	w.add(last)
}

// fail notes the first part that has no hash. Nothing is looked at afterwards.
func (w *walker) fail(path *step, format string, args ...any) {
	if w.failed == nil {
		w.failed = &Error{path.String(), fmt.Sprintf(format, args...)}
	}
}

// rest hashes what the pointers lead to that were found.
func (w *walker) rest() {
	for i := 0; i < len(w.queue) && w.failed == nil; i++ {
		w.value(w.queue[i].v, w.queue[i].path)
		w.queue[i] = target{}
	}
	w.queue = w.queue[:0]
}

// dynamic hashes what an interface holds, with its type.
func (w *walker) dynamic(v reflect.Value, path *step) {
	if !v.IsValid() {
		w.add(0)
		return
	}
	w.add(1)
	w.text(v.Type().PkgPath())
	w.text(v.Type().String())
	w.value(v, path)
}

// value hashes a value whose type is known to who compares hashes.
func (w *walker) value(v reflect.Value, path *step) {
	if w.parts++; w.parts > MaxParts {
		w.fail(path, "there are more than %d parts up to here", MaxParts)
	}
	if w.depth++; w.depth > MaxDepth {
		w.fail(path, "there are more than %d values within each other", MaxDepth)
	}
	if w.failed == nil {
		w.known(v, path)
	}
	w.depth--
}

// known is value within the bounds.
func (w *walker) known(v reflect.Value, path *step) {
	switch v.Kind() {
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		w.add(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.add(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.add(v.Uint())
	case reflect.Float32, reflect.Float64:
		w.float(v.Float())
	case reflect.Complex64, reflect.Complex128:
		w.float(real(v.Complex()))
		w.float(imag(v.Complex()))
	case reflect.String:
		w.text(v.String())
	case reflect.Interface:
		w.dynamic(v.Elem(), path)
	case reflect.Pointer:
		w.pointer(v, path)
	case reflect.Slice:
		w.slice(v, path)
	case reflect.Array:
		w.elements(v, path)
	case reflect.Map:
		w.mapping(v, path)
	case reflect.Struct:
		w.structure(v, path)
	default:
		w.refuse(v, path)
	}
}

// float hashes the bits of a number.
func (w *walker) float(f float64) {
	if math.IsNaN(f) {
		f = math.NaN()
	}
	w.add(math.Float64bits(f))
}

// refuse is for what cannot be compared by what it holds, unless it holds nothing.
func (w *walker) refuse(v reflect.Value, path *step) {
	if v.IsNil() {
		w.add(0)
		return
	}
	what := "an unsafe pointer, which has no size"
	switch v.Kind() {
	case reflect.Func:
		what = "a function, and nobody can see what it has captured"
	case reflect.Chan:
		what = "a channel, and nobody can see what is in its buffer and who waits"
	}
	w.fail(path, "it is %s (%v)", what, v.Type())
}

// pointer numbers what it leads to; what was not found before is hashed later.
func (w *walker) pointer(v reflect.Value, path *step) {
	if v.IsNil() {
		w.add(0)
		return
	}
	if w.refer(reference{v.UnsafePointer(), v.Type(), 0}) {
		w.queue = append(w.queue, target{v.Elem(), path})
	}
}

// slice is pointer for the elements of a slice, and hashes their number.
func (w *walker) slice(v reflect.Value, path *step) {
	if v.IsNil() {
		w.add(0)
		return
	}
	w.add(1 + uint64(v.Len()))
	if v.Len() > 0 && w.refer(reference{v.UnsafePointer(), v.Type(), v.Len()}) {
		w.elements(v, path)
	}
}

// refer hashes the number of what a pointer leads to, and reports whether it is new.
func (w *walker) refer(r reference) (found bool) {
	for o := w; o != nil; o = o.outer {
		if n, known := o.numbers[r]; known {
			w.add(n)
			return false
		}
	}
	n := uint64(2)
	for o := w; o != nil; o = o.outer {
		n += uint64(len(o.numbers))
	}
	w.numbers[r] = n
	w.add(n)
	return true
}

// elements hashes those of an array or slice.
func (w *walker) elements(v reflect.Value, path *step) {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		if w.parts += v.Len() / 8; w.parts <= MaxParts {
			w.text(unsafe.String((*byte)(v.UnsafePointer()), v.Len()))
			return
		}
	}
	for i := 0; i < v.Len() && w.failed == nil; i++ {
		w.value(v.Index(i), &step{before: path, index: i})
	}
}

// structure hashes fields.
func (w *walker) structure(v reflect.Value, path *step) {
	if w.special(v, path) {
		return
	}
	t := v.Type()
	for i := 0; i < t.NumField() && w.failed == nil; i++ {
		if name := t.Field(i).Name; name != "_" {
			w.value(v.Field(i), &step{before: path, name: "." + name})
		}
	}
}

// special hashes types of the standard library that have pointers into themselves, or to what only
// names something.
func (w *walker) special(v reflect.Value, path *step) bool {
	t := v.Type()
	switch t.PkgPath() {
	case "sync":
		if t.Name() == "Cond" { // who waits is a matter of where goroutines are
			w.value(v.FieldByName("L"), &step{before: path, name: ".L"})
			return true
		}
	case "sync/atomic":
		if !strings.HasPrefix(t.Name(), "Pointer[") {
			return false
		}
		// Its first field is an array of no pointers, which has their type.
		to, p := t.Field(0).Type.Elem(), v.FieldByName("v").UnsafePointer()
		w.value(reflect.NewAt(to.Elem(), p), path)
		return true
	case "time":
		if t.Name() == "Location" {
			w.text(v.FieldByName("name").String())
			return true
		}
	}
	return false
}

// entry is one of a map.
type entry struct {
	key, value reflect.Value
	alone      Hash // of the key by itself
	pair       Hash // of key and value by themselves, where the key does not tell
	refers     bool // to something that was not found before
}

// mapping hashes entries in an order that follows from what the keys hold.
func (w *walker) mapping(v reflect.Value, path *step) {
	if v.IsNil() {
		w.add(0)
		return
	}
	if !w.refer(reference{v.UnsafePointer(), v.Type(), 0}) {
		return
	}
	w.add(uint64(v.Len()))
	list := w.entries(v, path)
	for i := 0; i < len(list) && w.failed == nil; i++ {
		at := &step{before: path, name: fmt.Sprintf("[key %d of %d]", i+1, len(list))}
		w.value(list[i].key, at)
		w.value(list[i].value, at)
	}
}

// entries are those of a map, in an order that follows from what they hold.
func (w *walker) entries(v reflect.Value, path *step) []entry {
	list := make([]entry, 0, v.Len())
	for i := v.MapRange(); i.Next() && w.failed == nil; {
		e := entry{key: i.Key(), value: i.Value()}
		e.alone, e.refers = w.byItself(path, e.key)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return compare(a.alone, b.alone) })
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end].alone == list[i].alone {
			end++
		}
		if end-i > 1 {
			w.sortTied(list[i:end], path)
		}
		i = end
	}
	return list
}

// sortTied orders entries whose keys hold the same. If their values hold the same, too, they are
// the same, unless pointers can tell them apart.
func (w *walker) sortTied(list []entry, path *step) {
	for i := range list {
		e := &list[i]
		e.pair, e.refers = w.byItself(path, e.key, e.value)
	}
	slices.SortFunc(list, func(a, b entry) int { return compare(a.pair, b.pair) })
	for i := range list[1:] {
		if list[i].pair == list[i+1].pair && list[i].refers {
			w.fail(path, "two keys of the map (%v) hold the same, and differ only by where they point to: "+
				"give what they point to a name or a number", list[i].key.Type())
		}
	}
}

func compare(a, b Hash) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// byItself hashes some values without their surroundings. What pointers of the surroundings have
// led to before goes by its number.
func (w *walker) byItself(path *step, values ...reflect.Value) (h Hash, refers bool) {
	part := &walker{numbers: make(map[reference]uint64), outer: w, parts: w.parts, depth: w.depth}
	for _, v := range values {
		part.value(v, path)
	}
	part.rest()
	w.parts = part.parts
	if w.failed == nil {
		w.failed = part.failed
	}
	return part.hash, len(part.numbers) > 0
}
