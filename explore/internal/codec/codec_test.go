package codec

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// value is one that an Encoder writes, and a Decoder reads as it was.
type value struct {
	kind   int // what follows counts for its kind only
	number uint64
	signed int64
	truth  bool
	text   string
}

const kinds = 7

func drawValue(t *rapid.T) value {
	return value{
		kind: rapid.IntRange(0, kinds-1).Draw(t, "kind"), number: rapid.Uint64().Draw(t, "number"),
		signed: rapid.Int64Range(-100, 99).Draw(t, "signed"), truth: rapid.Bool().Draw(t, "truth"),
		text: rapid.String().Draw(t, "text"),
	}
}

func (v *value) write(e *Encoder) {
	switch v.kind {
	case 0:
		e.Number(v.number)
	case 1:
		e.Count(int(v.number % 1000))
	case 2:
		e.Signed(v.signed)
	case 3:
		e.Truth(v.truth)
	case 4:
		e.Text(v.text)
	case 5:
		e.Fixed(v.number)
	case 6:
		e.ID(v.number % 5) // the same ones again and again
	}
}

func (v *value) read(d *Decoder) bool {
	switch v.kind {
	case 0:
		return d.Number() == v.number
	case 1:
		return d.Count(999) == int(v.number%1000)
	case 2:
		return d.Signed(99) == v.signed
	case 3:
		return d.Truth() == v.truth
	case 4:
		return d.Text() == v.text
	case 5:
		return d.Fixed() == v.number
	}
	return d.ID() == v.number%5
}

// TestRoundTrip: what was written is read, and nothing is left. Of a part of it something is
// missing.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(drawValue), 1, 20).Draw(t, "values")
		e := &Encoder{}
		for i := range values {
			values[i].write(e)
		}
		d := &Decoder{Data: slices.Clone(e.Data)}
		for i := range values {
			if !values[i].read(d) {
				t.Fatalf("value %d, %+v, is another one", i, values[i])
			}
		}
		if d.Problem != "" || len(d.Data) > 0 {
			t.Fatalf("%d bytes are left: %s", len(d.Data), d.Problem)
		}
		d = &Decoder{Data: e.Data[:rapid.IntRange(0, len(e.Data)-1).Draw(t, "length")]}
		for i := range values {
			values[i].read(d)
		}
		if d.Problem == "" {
			t.Fatal("nobody notices that the end is missing")
		}
	})
}

// TestNamesAreWrittenOnce: a name takes nine bytes at first, and then one.
func TestNamesAreWrittenOnce(t *testing.T) {
	e := &Encoder{}
	for range 10 {
		e.ID(math.MaxUint64)
	}
	if len(e.Data) != 9+9 {
		t.Errorf("ten times the same name take %d bytes", len(e.Data))
	}
}

// TestRecordsAreWrittenOnce: what is the same is written once, wherever it is in memory, and who
// reads it gets one for all.
func TestRecordsAreWrittenOnce(t *testing.T) {
	type pair struct{ id, count uint64 }
	write := func(e *Encoder, p *pair) { e.ID(p.id); e.Number(p.count) }
	read := func(d *Decoder) *pair { return &pair{d.ID(), d.Number()} }
	one, same, other := &pair{7, 300}, &pair{7, 300}, &pair{7, 301}
	e := &Encoder{}
	for _, p := range []*pair{one, same, other, same, one, other} {
		Record(e, p, write)
	}
	// A name takes nine bytes at first, and what was written with it is written once without.
	if want := (1 + 9 + 2) + (1 + 1 + 2) + (1 + 1 + 2) + 3; len(e.Data) != want {
		t.Errorf("six records of three kinds take %d bytes, want %d", len(e.Data), want)
	}
	d := &Decoder{Data: e.Data}
	var list []*pair
	for range 6 {
		list = append(list, ReadRecord(d, read))
	}
	if *list[0] != *one || *list[1] != *one || *list[2] != *other || d.Problem != "" || len(d.Data) > 0 {
		t.Errorf("they are read as %+v %+v %+v: %q", list[0], list[1], list[2], d.Problem)
	}
	if list[3] != list[1] || list[4] != list[0] || list[5] != list[2] {
		t.Error("records that are the same are read as several")
	}
	for name, data := range map[string][]byte{"not given": {1, 0, 0}, "of another kind": append(e.Data, 0)} {
		d := &Decoder{Data: data}
		if name == "of another kind" {
			for range 6 {
				ReadRecord(d, read)
			}
		}
		ReadRecord(d, func(d *Decoder) *Decoder { d.Number(); return d })
		if !strings.Contains(d.Problem, "used before it is given") {
			t.Errorf("%s: %q", name, d.Problem)
		}
	}
}

// TestDamaged: what cannot be read is a problem, the first one, and then all that is read is zero.
func TestDamaged(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		read func(*Decoder)
		says string
	}{
		"nothing": {nil, func(d *Decoder) { d.Number() }, "cut off"},
		"endless": {slices.Repeat([]byte{0xff}, 20), func(d *Decoder) { d.Number() },
			"cut off or damaged"},
		"too great":     {[]byte{9, 1}, func(d *Decoder) { d.Count(8) }, "a number is 9, and the limit 8"},
		"too small":     {[]byte{5, 1}, func(d *Decoder) { d.Signed(1) }, "damaged"},
		"long list":     {[]byte{200, 1, 0, 0}, func(d *Decoder) { d.Length() }, "cut off or damaged"},
		"unknown name":  {[]byte{3, 1}, func(d *Decoder) { d.ID() }, "a name is used before it is given"},
		"half a number": {[]byte{1, 2, 3}, func(d *Decoder) { d.Fixed() }, "cut off"},
		"many bytes":    {[]byte{1, 2, 3}, func(d *Decoder) { d.Bytes(1 << 40) }, "cut off"},
	} {
		d := &Decoder{Data: test.data}
		test.read(d)
		if !strings.Contains(d.Problem, test.says) {
			t.Errorf("%s: %q, want %q", name, d.Problem, test.says)
		}
		problem := d.Problem
		if d.Number() != 0 || d.Truth() || d.Text() != "" || d.Fixed() != 0 || len(d.Data) > 0 {
			t.Errorf("%s: something is read after the problem", name)
		}
		if d.Fail("another"); d.Problem != problem {
			t.Errorf("%s: the problem becomes %q", name, d.Problem)
		}
	}
}
