package gotest

import (
	"regexp"
	"strings"
)

// Pattern is a pattern of go test -run: alternatives, and each of them in elements for the levels
// of subtests.
type Pattern [][]string

// ParsePattern takes a pattern apart. Its error is that of an element that is no regular
// expression. Elements are checked one by one, as package testing compiles them.
func ParsePattern(text string) (Pattern, error) {
	alternatives := splitPattern(text)
	for _, elements := range alternatives {
		for _, element := range elements {
			if _, err := regexp.Compile(element); err != nil {
				return nil, err
			}
		}
	}
	return alternatives, nil
}

// splitPattern takes a pattern of go test -run apart: into alternatives, and each of them into the
// elements for the levels of subtests. As in package testing, | and / separate only outside
// brackets and parentheses.
func splitPattern(pattern string) [][]string {
	alternatives := [][]string{nil}
	last := func() *[]string { return &alternatives[len(alternatives)-1] }
	classes, groups, from := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '[':
			classes++
		case c == ']':
			classes = max(classes-1, 0)
		case c == '(' && classes == 0:
			groups++
		case c == ')' && classes == 0:
			groups--
		case c == '\\':
			i++
		case (c == '/' || c == '|') && classes == 0 && groups == 0:
			*last() = append(*last(), pattern[from:i])
			if from = i + 1; c == '|' {
				alternatives = append(alternatives, nil)
			}
		}
	}
	*last() = append(*last(), pattern[from:])
	return alternatives
}

// matches reports whether a test is one of those that go test would skip by the pattern, whatever
// its subtests are. An alternative with several elements skips subtests only, never the whole test.
func (p Pattern) matches(test string) bool {
	for _, elements := range p {
		matches, err := regexp.MatchString(elements[0], test)
		if len(elements) == 1 && err == nil && matches {
			return true
		}
	}
	return false
}

// below turns the alternatives that a test matches into patterns for exactly this test and those of
// its subtests that they select. ok says whether there is any. A pattern without elements for
// subtests selects all of them.
func (p Pattern) below(test string) (patterns []string, ok bool) {
	for _, elements := range p {
		matches, err := regexp.MatchString(elements[0], test)
		if err == nil && matches {
			patterns = append(patterns, strings.Join(append([]string{exactly(test)}, elements[1:]...), "/"))
		}
	}
	return patterns, len(patterns) > 0
}

// narrow narrows patterns that select a subtest to those for it and what is below. Patterns that do
// not select the subtest are dropped.
func narrow(patterns []string, subtest string) []string {
	names := strings.Split(subtest, "/")
	var narrowed []string
	for _, pattern := range patterns {
		elements := splitPattern(pattern)[0]
		selected := true
		for i, name := range names[:min(len(names), len(elements))] {
			matches, err := regexp.MatchString(elements[i], name)
			selected = selected && err == nil && matches
		}
		if selected {
			rest := elements[min(len(names), len(elements)):]
			narrowed = append(narrowed, strings.Join(append([]string{exactly(subtest)}, rest...), "/"))
		}
	}
	return narrowed
}

// exactly is a pattern for tests with these names and all that is below them. Characters with a
// meaning in regular expressions are quoted.
func exactly(names ...string) string {
	patterns := make([]string, len(names))
	for i, name := range names {
		elements := strings.Split(name, "/")
		for j, e := range elements {
			elements[j] = "^" + regexp.QuoteMeta(e) + "$"
		}
		patterns[i] = strings.Join(elements, "/")
	}
	return strings.Join(patterns, "|")
}
