package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// scheduleExample is a recording as a schedule keeps it: of no build.
func scheduleExample() *Recording {
	r := example()
	r.Program.Directory, r.Program.Build, r.Expect.EventLog = ".", "", ""
	return r
}

func scheduleOf(t interface{ Fatal(...any) }, r *Recording) Schedule {
	s, err := NewSchedule(r, r.Program.Package, r.Program.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchedule: what a recording has comes back from the string, but for what is of one build.
func TestSchedule(t *testing.T) {
	from := example()
	s, err := NewSchedule(from, from.Program.Package, ".")
	if err != nil {
		t.Fatal(err)
	}
	back, err := s.Recording()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scheduleExample(), back, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-recorded +read):\n%s", diff)
	}
}

// TestAnyScheduleComesBack: whatever steps there are.
func TestAnyScheduleComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := scheduleExample()
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			r.Schedule = append(r.Schedule, Chosen{
				Goroutine: rapid.Uint64().Draw(t, "goroutine"),
				Choice:    rapid.IntRange(0, maxAlternatives-1).Draw(t, "choice"),
				Operation: rapid.SampledFrom([]string{"lock", "send", ""}).Draw(t, "operation"),
				Function:  rapid.SampledFrom([]string{"main.main", "x.(*Y[a b]).z", ""}).Draw(t, "function"),
				File:      rapid.SampledFrom([]string{"m/main.go", ""}).Draw(t, "file"),
				Line:      rapid.IntRange(0, 1<<30).Draw(t, "line"),
			})
		}
		back, err := scheduleOf(t, r).Recording()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-recorded +read):\n%s", diff)
		}
	})
}

// TestScheduleIsCompact: forty steps of two goroutines fit into four lines of a terminal.
func TestScheduleIsCompact(t *testing.T) {
	r := scheduleExample()
	r.Exchanges, r.Schedule = nil, nil
	for i := range 40 {
		c := Chosen{Goroutine: 1, Operation: "lock", Function: "main.main", File: "m/main.go", Line: 10 + i%7}
		if i%3 == 1 {
			c.Goroutine, c.Operation, c.Function = 0x9e3779b97f4a7c15, "unlock", "main.main.func1"
		}
		r.Schedule = append(r.Schedule, c)
	}
	if s := scheduleOf(t, r); len(s) > 400 {
		t.Errorf("%d characters: %s", len(s), s)
	}
}

// TestScheduleNoticesEveryDamage: a string that is cut off anywhere, or has another byte anywhere,
// is an error, and never another schedule.
func TestScheduleNoticesEveryDamage(t *testing.T) {
	s := string(scheduleOf(t, scheduleExample()))
	whole, err := Schedule(s).Recording()
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(s) {
		if r, err := Schedule(s[:i]).Recording(); err == nil {
			t.Fatalf("cut off after %d bytes it is read: %+v", i, r)
		}
		for _, b := range []byte("Aaz09-_=. \n\x00\xff") {
			other := []byte(s)
			if other[i] == b {
				continue
			}
			other[i] = b
			// The bits after the end of what is compressed do not count.
			if r, err := Schedule(other).Recording(); err == nil && !cmp.Equal(r, whole) {
				t.Fatalf("with %q in place of %q at %d it is read: %+v", b, s[i], i, r)
			}
		}
	}
	for _, tail := range []string{"A", "AAAA", "\n", "=", "."} {
		if _, err := Schedule(s + tail).Recording(); err == nil {
			t.Errorf("with %q at its end it is read", tail)
		}
	}
}

// packed is a text as a schedule with a right sum.
func packed(text []byte) Schedule {
	b := bytes.NewBuffer(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text)))
	w, _ := flate.NewWriterDict(b, flate.BestCompression, []byte(scheduleDictionary))
	w.Write(text)
	w.Close()
	return Schedule(SchedulePrefix + base64.RawURLEncoding.EncodeToString(b.Bytes()))
}

// TestScheduleErrors: what is wrong with a text whose sum is right is said.
func TestScheduleErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                         "unexpected EOF",
		`{"frobnicate":1}`:          "unknown field",
		`{"package":"p","go":"1"}`:  "outcome must be named",
		`{"package":"-p","go":"1"}`: "does not begin with a dash",
		`{"steps":{"g":[0]}}`:       "do not have the same length",
		`{"steps":{"g":[0],"c":[0],"o":[0],"f":[0],"l":[0]}}`: "step 1 names",
	} {
		if _, err := packed([]byte(text)).Recording(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", text, err, want)
		}
	}
	for _, s := range []Schedule{"", "tandem2.AAAA", "tandem1.", "tandem1.AAAA"} {
		if _, err := s.Recording(); err == nil {
			t.Errorf("%q is read", s)
		}
	}
	if _, err := inflate(bytes.Repeat([]byte{0xff}, 10)); err == nil {
		t.Error("what is not compressed is read")
	}
}

// FuzzSchedule: any string is refused with an error or is a recording that can be a schedule again.
func FuzzSchedule(f *testing.F) {
	s := string(scheduleOf(f, scheduleExample()))
	f.Add(s)
	f.Add(s[:len(s)/2])
	f.Add(`{"package":"p","go":"go1.26.0","outcome":"panic","goroutines":[1],` +
		`"functions":["m/x.go main.main"],"operations":["lock"],` +
		`"steps":{"g":[0],"c":[1],"o":[0],"f":[0],"l":[7]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		// The fuzzer does not find sums: also try the text as what is packed.
		for _, s := range []Schedule{Schedule(text), packed([]byte(text))} {
			r, err := s.Recording()
			if err != nil {
				continue
			}
			again, err := NewSchedule(r, r.Program.Package, r.Program.Directory)
			if err != nil {
				t.Fatal(err)
			}
			back, err := again.Recording()
			if err != nil {
				t.Fatal(err)
			}
			// Bytes that are no UTF-8 are replaced as they are read, and so they do not count.
			a, _ := json.Marshal(r)
			b, _ := json.Marshal(back)
			if !bytes.Equal(a, b) {
				t.Fatalf("%s\ncomes back as\n%s", a, b)
			}
		}
	})
}
