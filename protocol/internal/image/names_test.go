package image

import (
	"bytes"
	"testing"
	"time"
)

// cell is what images are compared of that have names.
type cell struct {
	Any  any
	Next *cell
	Call func()
	Zone *time.Location
}

func first()  {}
func second() {}

// TestNamed: images with names are the same whatever has been met before, and tell the same values
// apart as others do.
func TestNamed(t *testing.T) {
	constant := &cell{}
	one, two, long := &cell{Any: 1}, &cell{Any: 1}, [40]int{39: 1}
	values := []any{nil, 1, int8(1), "", []any{1, int8(1)}, []any{int8(1), 1}, long, [40]int{39: 2}, constant,
		[]*cell{one, one}, []*cell{one, two}, map[any]int{1: 1, int8(1): 2}, map[any]int{1: 2, int8(1): 1},
		cell{Call: first}, cell{Call: second}, cell{Zone: time.UTC}, cell{Zone: time.Local},
		[]bytes.Buffer{}, &cell{Next: &cell{Any: &cell{Any: time.Second}}},
		&cell{Next: &cell{Any: &cell{Any: 1}}}}
	x, y := newImages(t, constant), newImages(t, constant)
	// They number types and functions in other orders.
	for i := range values {
		appendTo(t, x, values[i])
		appendTo(t, y, values[len(values)-1-i])
	}
	x.Seal()
	seen, differ := map[string]any{}, 0
	for _, v := range values {
		a, err := AppendNamed(x, nil, v)
		if err != nil {
			t.Fatal(err)
		}
		b, err := AppendNamed(y, nil, v)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%#v: %q, and %q, error %v", v, a, b, err)
		}
		if other, ok := seen[string(a)]; ok {
			t.Errorf("%#v has the image of %#v: %q", v, other, a)
		}
		seen[string(a)] = v
		if !bytes.Equal(appendTo(t, x, v), appendTo(t, y, v)) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("all numbers are the same")
	}
}

func newImages(t *testing.T, constant any) *Images {
	t.Helper()
	m, err := New(constant)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func appendTo(t *testing.T, m *Images, value any) []byte {
	t.Helper()
	data, err := m.Append(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
