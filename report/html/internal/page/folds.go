package page

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
)

// Fold is a run of steps that a page shows as one row, until it is opened.
type Fold struct {
	First int    `json:"first"`
	Last  int    `json:"last"`
	Text  string `json:"text"`
	Loop  bool   `json:"loop"`
}

// minLibrary is how many steps in libraries are folded: one row for two says no more than both.
const minLibrary = 3

// maxPeriod bounds the rows of a round of a loop, and minRounds is how many rounds are folded.
const (
	maxPeriod = 16
	minRounds = 4
)

// maxNamed bounds the packages and goroutines that are named of steps that were folded.
const maxNamed = 3

// unit is what is compared to find loops: a step, or a run of steps in libraries.
type unit struct {
	first, last int
	same        uint64 // equal for units that say the same; 0: of this one there is no other
}

// folds finds what is folded: steps in libraries, and the rounds of loops between the first one and
// the last one. Rounds may have folded steps of libraries in them.
func (b *builder) folds() []Fold {
	list := []Fold{}
	// Loops are looked for among units, so a round may have folded libraries in it.
	units := b.units(&list)
	for i := 0; i < len(units); {
		period, rounds := roundsOf(units[i:])
		if rounds < minRounds {
			i++
			continue
		}
		middle := units[i+period : i+period*(rounds-1)]
		list = append(list, Fold{First: middle[0].first, Last: middle[len(middle)-1].last, Loop: true,
			Text: fmt.Sprintf("%s of the %s above", textutil.CountOf(rounds-2, "more round"),
				textutil.CountOf(period, "row"))})
		i += period * rounds
	}
	// The order is that in which a reader of the list comes to them.
	slices.SortStableFunc(list, func(x, y Fold) int {
		if x.First != y.First {
			return x.First - y.First
		}
		if x.Last != y.Last {
			return y.Last - x.Last
		}
		// A loop around one run of steps comes before that.
		return map[bool]int{true: -1, false: 1}[x.Loop]
	})
	return list
}

// units cuts the steps into units, and folds those in libraries. What was left out is not bridged,
// and neither are steps that must be seen.
func (b *builder) units(list *[]Fold) []unit {
	var units []unit
	// The same as the keys of the page, to look them up.
	key := map[int]bool{}
	for _, k := range b.page.Keys {
		key[k] = true
	}
	signatures := b.signatures(key)
	for i := 0; i < len(b.steps); {
		n := i
		for n < len(b.steps) && b.steps[n].Library != "" && !key[n] && (n == i || n != b.page.Gap) {
			n++
		}
		if n-i < minLibrary {
			units = append(units, unit{i, i, signatures[i]})
			i++
			continue
		}
		*list = append(*list, Fold{First: i, Last: n - 1, Text: b.libraryText(i, n)})
		units = append(units, unit{i, n - 1, combine(signatures[i:n])})
		i = n
	}
	return units
}

// signatures tells steps that say the same from others. Steps that something else belongs to are
// like no others. Those of the clock are alike whatever the time is.
func (b *builder) signatures(key map[int]bool) []uint64 {
	// Hashes of 64 bits: a page may fold two different steps together once in 10^8 pages of 10^6
	// steps.
	seed := maphash.MakeSeed()
	list := make([]uint64, len(b.steps))
	for i := range b.steps {
		s := &b.steps[i]
		if key[i] || s.Restored != "" || b.page.Omitted > 0 && i == b.page.Gap {
			continue
		}
		id := [3]int{b.page.Template[i], b.page.Object[i], s.Goroutine}
		if s.Goroutine == report.Clock {
			id = [3]int{-1, -1, report.Clock}
		}
		list[i] = maphash.Comparable(seed, id)
		for _, m := range s.IO {
			list[i] = list[i]*31 + maphash.String(seed, fmt.Sprint(m.Conn, m.ToPeer, m.Event, m.About))
			list[i] = list[i]*31 + maphash.Bytes(seed, m.Data)
		}
	}
	// Output is to be seen.
	for i, kind := range b.page.Notes.Kind {
		if kind == Output {
			list[b.page.Notes.Step[i]] = 0
		}
	}
	return list
}

// combine is the signature of several steps.
func combine(list []uint64) (sum uint64) {
	for _, s := range list {
		if s == 0 {
			return 0
		}
		sum = sum*1_000_003 + s
	}
	return sum
}

// roundsOf is how many units are repeated from here on, and how often; the smallest number of units
// counts.
func roundsOf(units []unit) (period, rounds int) {
	// This is quadratic in maxPeriod only, since each comparison ends at the first difference.
	for period = 1; period <= maxPeriod && period*minRounds <= len(units); period++ {
		n := period
		for n < len(units) && units[n].same != 0 && units[n].same == units[n-period].same {
			n++
		}
		if rounds = n / period; rounds >= minRounds {
			return period, rounds
		}
	}
	return 0, 0
}

// libraryText says what the steps from first up to last are that are folded.
func (b *builder) libraryText(first, last int) string {
	var packages, names []string
	// In the order in which they come.
	for i := first; i < last; i++ {
		add(&packages, b.page.Strings[b.string(b.steps[i].Library)])
		add(&names, b.page.Lanes[b.page.Lane[i]].Name)
	}
	// The name of a single package is left, whatever it is.
	if len(packages) > 1 { // what others use says nothing
		packages = slices.DeleteFunc(packages, func(name string) bool {
			return name == "sync" || name == "sync/atomic"
		})
	}
	return fmt.Sprintf("%s in %s, by %s", textutil.CountOf(last-first, "step"), someOf(packages),
		someOf(names))
}

// add adds a name to a list that does not have it. More names than are told are only counted.
func add(list *[]string, name string) {
	if len(*list) < 100 && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// someOf names the first of a list: "a, b and 3 more".
func someOf(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
