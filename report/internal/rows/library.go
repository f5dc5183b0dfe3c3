package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// maxFoldedMessages bounds the messages that are shown of steps that were folded.
const maxFoldedMessages = 6

// maxNamed bounds the goroutines, and the packages, that are named of steps that were folded.
const maxNamed = 3

// FoldLibraries replaces runs of steps that are in other packages than the user's by one row each.
// A run ends where the user's code makes another call. Steps that a failure is about stay. The
// given slice is not changed.
func FoldLibraries(rows []Row, goroutines []report.Goroutine) []Row {
	var folded []Row
	for len(rows) > 0 {
		n, place := 0, ""
		for n < len(rows) && rows[n].isFoldable() {
			if own := rows[n].ownSource(); own != "" {
				if place != "" && own != place {
					break
				}
				place = own
			}
			n++
		}
		if n == 0 {
			folded, rows = append(folded, rows[0]), rows[1:]
			continue
		}
		folded, rows = append(folded, libraryRow(rows[:n], place, goroutines)), rows[n:]
	}
	return folded
}

// isFoldable reports whether a row may be folded since it is in a library.
func (r Row) isFoldable() bool { return r.Library != "" && !r.Key && r.Omission == "" }

// ownSource is where the user's code calls what the row does; empty if it is called elsewhere.
func (r Row) ownSource() string {
	if r.calledByOwn {
		return r.Source
	}
	return ""
}

// libraryRow stands for rows that are in libraries.
func libraryRow(rows []Row, place string, goroutines []report.Goroutine) Row {
	first, last := rows[0], rows[len(rows)-1]
	folded := Row{First: first.First, Last: last.Last, Goroutine: first.Goroutine, Source: place,
		kind: first.kind, Library: first.Library}
	var packages, names []string
	preempts := ""
	for _, r := range rows {
		add(&packages, words.Printable(r.Library))
		name := NameOf(goroutines, r.Goroutine)
		add(&names, name)
		if r.Preempts && preempts == "" {
			preempts = ", where " + name + " preempts"
		}
		folded.Messages = append(folded.Messages, r.Messages...)
		folded.Cached = folded.Cached || r.Cached
		if r.Restored != "" {
			folded.Restored = r.Restored
		}
		if place != "" && r.ownSource() == place && folded.Function == "" {
			folded.Function = r.Function
		}
	}
	// Libraries synchronise by package sync: where one is named, sync says nothing.
	if len(packages) > 1 {
		packages = slices.DeleteFunc(packages, func(name string) bool {
			return name == "sync" || name == "sync/atomic"
		})
	}
	folded.Summary = fmt.Sprintf("%s in %s, by %s%s",
		textutil.CountOf(last.Last-first.First+1, "step"), someOf(packages), someOf(names), preempts)
	// The last messages say how far it came, and the first ones how it began.
	if more := len(folded.Messages) - maxFoldedMessages; more > 0 {
		const begins = 2
		left := append(slices.Clone(folded.Messages[:begins]),
			"... "+textutil.CountOf(more+1, "more message"))
		folded.Messages = append(left, folded.Messages[len(folded.Messages)-(maxFoldedMessages-begins-1):]...)
	}
	return folded
}

// add adds a name to a list that does not have it.
func add(list *[]string, name string) {
	if !slices.Contains(*list, name) {
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

// maxPeriod bounds the rows of a round of a loop, and minRounds is how many rounds are folded.
const (
	maxPeriod = 8
	minRounds = 4
)

// FoldLoops replaces the middle of loops, which repeat the same rows, by one row: the first and the
// last round stay. Rows of the clock are alike whatever the time is. The given slice is not
// changed.
func FoldLoops(rows []Row) []Row {
	var folded []Row
	for len(rows) > 0 {
		period, rounds := roundsOf(rows)
		if rounds < minRounds {
			folded, rows = append(folded, rows[0]), rows[1:]
			continue
		}
		middle := rows[period : period*(rounds-1)]
		folded = append(folded, rows[:period]...)
		folded = append(folded, Row{
			First: middle[0].First, Last: middle[len(middle)-1].Last, Goroutine: middle[0].Goroutine,
			Summary: fmt.Sprintf("... %s of the %s above", textutil.CountOf(rounds-2, "more round"),
				textutil.CountOf(period, "row")),
		})
		folded = append(folded, rows[period*(rounds-1):period*rounds]...)
		rows = rows[period*rounds:]
	}
	return folded
}

// roundsOf is how many rows are repeated from here on, and how often; the smallest number of rows
// counts.
func roundsOf(rows []Row) (period, rounds int) {
	// A round of two rows is one of four rows, too. The smallest number is what a reader sees.
	for period = 1; period <= maxPeriod && period*minRounds <= len(rows); period++ {
		n := period
		for n < len(rows) && rows[n].isLike(rows[n-period]) {
			n++
		}
		if rounds = n / period; rounds >= minRounds {
			return period, rounds
		}
	}
	return 0, 0
}

// isLike reports whether two rows say the same.
func (r Row) isLike(other Row) bool {
	return r.Goroutine == other.Goroutine && !r.Key && !other.Key && r.Object == other.Object &&
		r.Source == other.Source && r.Restored == "" && other.Restored == "" && r.Omission == "" &&
		len(r.operations) > 0 && r.Summary == other.Summary && len(r.Outputs)+len(other.Outputs) == 0 &&
		(r.What() == other.What() || r.Goroutine == report.Clock) && slices.Equal(r.Messages, other.Messages)
}
