package image

import (
	"bytes"
	"fmt"
	"reflect"

	"pgregory.net/rapid"
)

// basic are the types that others are made of.
var basic = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int16](), reflect.TypeFor[uint8](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[string](), reflect.TypeFor[any](),
	reflect.TypeFor[list](), reflect.TypeFor[struct{}](), reflect.TypeFor[*tree](),
}

// drawType draws a type; keys of maps have neither pointers nor interfaces.
func drawType(t *rapid.T, depth int, key bool) reflect.Type {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 5).Draw(t, "kind")
	}
	switch {
	case key && kind <= 4:
		return basic[rapid.IntRange(0, 6).Draw(t, "key")]
	case kind == 1:
		return reflect.PointerTo(drawType(t, depth-1, false))
	case kind == 2:
		return reflect.SliceOf(drawType(t, depth-1, false))
	case kind == 3:
		return reflect.MapOf(drawType(t, depth-1, true), drawType(t, depth-1, false))
	case kind == 4:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "length"), drawType(t, depth-1, false))
	case kind == 5:
		var fields []reflect.StructField
		for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: drawType(t,
				depth-1, key)})
		}
		return reflect.StructOf(fields)
	}
	return basic[rapid.IntRange(0, len(basic)-1).Draw(t, "basic")]
}

// values draws values. Pointers, slices and maps that it has made may come again.
type values struct {
	t    *rapid.T
	made []reflect.Value
}

func (v *values) draw(typ reflect.Type, depth int) reflect.Value {
	place := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if depth > 0 && rapid.IntRange(0, 4).Draw(v.t, "not nil") > 0 {
			place.Set(v.reference(typ, depth))
		}
	case reflect.Interface:
		if depth > 0 {
			place.Set(v.draw(basic[rapid.IntRange(0, 6).Draw(v.t, "dynamic")], depth-1))
		}
	case reflect.Struct:
		for i := range typ.NumField() {
			if f := place.Field(i); f.CanSet() {
				f.Set(v.draw(f.Type(), depth-1))
			}
		}
	case reflect.Array:
		for i := range typ.Len() {
			place.Index(i).Set(v.draw(typ.Elem(), depth-1))
		}
	default:
		drawBasic(v.t, place)
	}
	return place
}

// drawBasic draws numbers and texts, mostly small ones.
func drawBasic(t *rapid.T, place reflect.Value) {
	n := rapid.IntRange(-3, 300).Draw(t, "number")
	switch {
	case place.CanInt():
		place.SetInt(int64(n))
	case place.CanUint():
		place.SetUint(uint64(n) >> (n & 7))
	case place.CanFloat():
		place.SetFloat(float64(n) / 4)
	case place.Kind() == reflect.Bool:
		place.SetBool(n%2 == 0)
	default:
		place.SetString(fmt.Sprint(n))
	}
}

// reference is a new pointer, slice or map, or one that was made before. A part of a slice is like
// a new one that shares memory.
func (v *values) reference(typ reflect.Type, depth int) reflect.Value {
	for _, old := range v.made {
		if old.Type() != typ || rapid.IntRange(0, 2).Draw(v.t, "old") > 0 {
			continue
		}
		if typ.Kind() == reflect.Slice && old.Len() > 0 && rapid.Bool().Draw(v.t, "part") {
			from := rapid.IntRange(0, old.Len()-1).Draw(v.t, "from")
			return old.Slice(from, rapid.IntRange(from, old.Len()).Draw(v.t, "to"))
		}
		return old
	}
	n := rapid.IntRange(0, 3).Draw(v.t, "length")
	var made reflect.Value
	switch typ.Kind() {
	case reflect.Pointer:
		made = reflect.New(typ.Elem())
		v.made = append(v.made, made)
		made.Elem().Set(v.draw(typ.Elem(), depth-1))
	case reflect.Slice:
		made = reflect.MakeSlice(typ, n, n)
		v.made = append(v.made, made)
		for i := range n {
			made.Index(i).Set(v.draw(typ.Elem(), depth-1))
		}
	default:
		made = reflect.MakeMap(typ)
		v.made = append(v.made, made)
		for range n {
			made.SetMapIndex(v.draw(typ.Key(), depth-1), v.draw(typ.Elem(), depth-1))
		}
	}
	return made
}

// checkRandomValue images a value, and one more that may be equal.
func checkRandomValue(t *rapid.T) {
	m, err := New()
	if err != nil {
		t.Fatal(err)
	}
	typ := drawType(t, 3, false)
	v := values{t: t}
	value := v.draw(typ, 4).Interface()
	image, err := m.Append(nil, value)
	if err != nil {
		t.Fatalf("%#v: %v", value, err)
	}
	decoded, err := m.Decode(image)
	if err != nil {
		t.Fatalf("%#v: %v", value, err)
	}
	if !reflect.DeepEqual(value, decoded) {
		t.Fatalf("%#v is %#v", value, decoded)
	}
	if again, err := m.Append(nil, decoded); err != nil || !bytes.Equal(again, image) {
		t.Fatalf("%#v: %x and then %x (%v)", value, image, again, err)
	}
	other := v.draw(typ, 4).Interface()
	otherImage, err := m.Append(nil, other)
	if err != nil {
		t.Fatalf("%#v: %v", other, err)
	}
	// Values that are equal may still share memory in other ways; those that differ never have one
	// image.
	if !reflect.DeepEqual(value, other) && bytes.Equal(image, otherImage) {
		t.Fatalf("%#v and %#v have one image", value, other)
	}
}
