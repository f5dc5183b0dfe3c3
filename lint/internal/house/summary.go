package house

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Summary has the measures of the whole house by name, as text. The names are those of before.csv.
// There must be a package.
func (h *House) Summary() map[string]string {
	all := &Package{}
	var lines []int
	var circles, large []string
	// The package with most files.
	files := &Package{}
	for _, p := range h.Packages {
		all.add(p)
		lines = append(lines, p.Lines)
		// Circles within the limit are not named.
		if len(p.Circle) > MaxCircle {
			circles = append(circles, fmt.Sprintf("%s %d/%d", p.Dir, len(p.Circle), p.Files))
		}
		if p.Lines > MaxLines {
			large = append(large, p.Dir)
		}
		if p.Files > files.Files {
			files = p
		}
	}
	// Packages that only tests import count with no lines.
	sizes := fmt.Sprintf("%d; %d / %d", len(lines), quantile(lines, 50), slices.Max(lines))
	return map[string]string{
		"packages; median / largest, lines": sizes,
		"packages above 4000 lines":         count(large),
		"functions: median / p90 / longest": all.functionSizes(),
		"comment lines":                     fmt.Sprintf("%.0f %%", all.commentShare()),
		"words of a sentence, median":       fmt.Sprint(quantile(all.Sentences, 50)),
		"tests : code":                      fmt.Sprintf("%.2f", all.testShare()),
		"tests with their scripts : code":   fmt.Sprintf("%.2f", all.scriptShare()),
		"types with methods in >= 4 files":  fmt.Sprintf("%d of %d", all.spread(), len(all.Types)),
		"circles of 10 files or more":       count(circles),
		"lines over 110 columns":            fmt.Sprint(len(h.Wide)),
		"comments over 100 columns":         fmt.Sprint(len(h.Far)),
		"structs with more than 20 fields":  fmt.Sprint(all.wideStructs()),
		"most files in a package":           fmt.Sprintf("%d (%s)", files.Files, files.Dir),
		"exported outside a face":           fmt.Sprint(len(all.Outside)),
	}
}

// Headings are those of the columns of Row.
var Headings = []string{
	"package", "files", "lines", "functions", "comments", "tests", "spread", "circle", "wide",
	"fields", "outside",
}

// Row is the line of a package in a table, with tabs between its columns. The columns are those of
// Headings, in the same order.
func (h *House) Row(p *Package) string {
	wide := 0
	// Places know their files only.
	for _, place := range h.Wide {
		if path.Dir(place) == p.Dir {
			wide++
		}
	}
	columns := []string{
		p.Dir, fmt.Sprint(p.Files), fmt.Sprint(p.Lines), p.functionSizes(),
		fmt.Sprintf("%.0f %%", p.commentShare()), fmt.Sprintf("%.2f", p.testShare()), fmt.Sprint(p.spread()),
		fmt.Sprintf("%d/%d", len(p.Circle), p.Files), fmt.Sprint(wide), fmt.Sprint(p.wideStructs()),
		fmt.Sprint(len(p.Outside)),
	}
	return strings.Join(columns, "\t")
}

// add takes another package into a sum. Names and circles have no sum.
func (p *Package) add(other *Package) {
	p.Files += other.Files
	p.Lines += other.Lines
	p.Comments += other.Comments
	p.TestLines += other.TestLines
	p.ScriptLines += other.ScriptLines
	p.Functions = append(p.Functions, other.Functions...)
	p.Types = append(p.Types, other.Types...)
	p.Structs = append(p.Structs, other.Structs...)
	p.Outside = append(p.Outside, other.Outside...)
	p.Sentences = append(p.Sentences, other.Sentences...)
}

// functionSizes is the median, the 90th percentile and the longest, in lines; - if there are no
// functions.
func (p *Package) functionSizes() string {
	if len(p.Functions) == 0 {
		return "-"
	}
	sizes := p.Functions
	return fmt.Sprintf("%d / %d / %d", quantile(sizes, 50), quantile(sizes, 90), slices.Max(sizes))
}

// commentShare is how many percent of the lines hold nothing but a comment.
func (p *Package) commentShare() float64 { return 100 * float64(p.Comments) / float64(max(p.Lines, 1)) }

// testShare is how many lines of tests there are for each line of code.
func (p *Package) testShare() float64 { return float64(p.TestLines) / float64(max(p.Lines, 1)) }

// scriptShare is how many lines of tests, of scripts and of programs in testdata there are for each
// line of code.
func (p *Package) scriptShare() float64 {
	return float64(p.TestLines+p.ScriptLines) / float64(max(p.Lines, 1))
}

// spread is how many types have methods in more files than they may.
func (p *Package) spread() (n int) {
	for _, t := range p.Types {
		if t.Files > MaxSpread {
			n++
		}
	}
	return n
}

// wideStructs is how many structs have more fields than they may.
func (p *Package) wideStructs() (n int) {
	for _, t := range p.Structs {
		if t.Fields > MaxFields {
			n++
		}
	}
	return n
}

// count is how many there are, and which. They are named, so that a reader knows where to begin.
func count(list []string) string {
	if len(list) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", len(list), strings.Join(list, ", "))
}

// quantile is the value below which so many percent of the numbers lie; 0 if there are none. It is
// one of the numbers, the lower one where two are as near.
func quantile(numbers []int, percent int) int {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[(len(sorted)-1)*percent/100]
}
