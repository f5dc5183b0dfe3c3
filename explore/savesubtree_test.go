package explore

import (
	"errors"
	"slices"
	"testing"

	"github.com/tandem-mc/tandem/explore/internal/testkit"
)

// splitOff executes a program once, and splits a part off.
func splitOff(t testing.TB, s *Search) *Subtree {
	t.Helper()
	testkit.ExecuteOne(t, s, testkit.ParseProgram(threeWriters))
	part := s.Split(Size{Enough: 1000})
	if part == nil {
		t.Fatal("there is nothing to take")
	}
	return part
}

// written are a part as it is written, and what has been explored of it after so many executions.
func written(t testing.TB, s *Search, executions int) (part, explored []byte) {
	t.Helper()
	part, err := SaveSubtree(splitOff(t, s), &Common{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := ResumeSubtree(part, &Common{})
	if err != nil {
		t.Fatal(err)
	}
	p := testkit.ParseProgram(threeWriters)
	for range executions {
		schedule, more := there.Next()
		if !more {
			break
		}
		if err := there.Report(testkit.Run(p, schedule, 0).Log); err != nil {
			t.Fatal(err)
		}
	}
	if explored, err = SaveExplored(there); err != nil {
		t.Fatal(err)
	}
	return part, explored
}

// TestDamagedParts: what is cut off, too long, or of another version is refused.
func TestDamagedParts(t *testing.T) {
	part, explored := written(t, dporSearch(), 2)
	reads := map[string]func([]byte) error{
		"a part":            func(b []byte) error { _, err := ResumeSubtree(b, &Common{}); return err },
		"what was explored": func(b []byte) error { return TakeOver(splitOff(t, dporSearch()), b) },
	}
	for name, data := range map[string][]byte{"a part": part, "what was explored": explored} {
		read := reads[name]
		if err := read(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wrong := [][]byte{append(slices.Clone(data), 0), append([]byte{99}, data[1:]...)}
		for n := range data {
			wrong = append(wrong, data[:n])
		}
		for _, b := range wrong {
			var damaged *StateError
			if err := read(b); !errors.As(err, &damaged) {
				t.Errorf("%s, %d of %d bytes: %v", name, len(b), len(data), err)
			}
		}
	}
}

// FuzzSubtree: arbitrary bytes are no part, or one that is explored, or ends with an error.
func FuzzSubtree(f *testing.F) {
	for _, make := range []func() *Search{dporSearch, saveables["auto"]} {
		part, _ := written(f, make(), 1)
		f.Add(part)
	}
	p := testkit.ParseProgram(threeWriters)
	f.Fuzz(func(t *testing.T, data []byte) {
		there, err := ResumeSubtree(data, &Common{})
		if err != nil {
			return
		}
		executed := 0
		for range 20 {
			schedule, more := there.Next()
			if !more || there.Report(runAnyway(p, schedule)) != nil {
				return
			}
			executed++
		}
		if executed > 0 {
			SaveExplored(there)
		}
	})
}

// FuzzExplored: arbitrary bytes are nothing that was explored, or the search goes on with them, or
// ends with an error.
func FuzzExplored(f *testing.F) {
	for _, executions := range []int{1, 2, 1000} {
		_, explored := written(f, dporSearch(), executions)
		f.Add(explored)
	}
	p := testkit.ParseProgram(threeWriters)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := dporSearch()
		part := splitOff(t, s)
		if TakeOver(part, data) != nil {
			return
		}
		for range 40 {
			schedule, more := s.Next()
			if !more {
				return
			}
			if s.Arrived() == part && s.Merge(part) {
				continue
			}
			if s.Report(runAnyway(p, schedule)) != nil {
				return
			}
		}
	})
}
