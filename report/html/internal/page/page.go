// Package page is the model of a page: what a browser gets of a counterexample. It has the steps of
// the schedule as columns of numbers, which take little room however many there are, and tables of
// the strings that the numbers refer to. It is pure. How it looks is up to the assets of the page.
package page

import (
	"fmt"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/report/internal/words"
)

// Page is what a browser gets. Indices begin with 0, as in report.Counterexample. Every string is
// printable, and may hold markup: it must be shown as text.
type Page struct {
	// Tables. The first string is empty, and the first stack has no calls, so that 0 stands for
	// nothing.
	Lanes     []Lane     `json:"lanes"`
	Strings   []string   `json:"strings"`
	Templates []Template `json:"templates"` // what steps have in common
	Stacks    [][]Call   `json:"stacks"`
	Folds     []Fold     `json:"folds"` // in order; one that is inside of another comes after it
	Keys      []int      `json:"keys"`  // steps that are never folded
	Sources   []Source   `json:"sources"`
	Steps     int        `json:"steps"`
	// Steps is how long the columns of steps are, which follow.
	// Omitted steps are left out before the step with the index Gap, since there is no room for
	// all.
	Gap     int `json:"gap"`
	Omitted int `json:"omitted"`
	// Cache is the I/O cache around the counterexample; nil: there were no peers.
	Cache *Cache `json:"cache"`

	// The columns of steps: index of a template, index of a string, index of a lane, and how many
	// steps ago that was which this step had to come after; 0: none.
	Template, Object, Lane, After []int `json:"-"`

	Notes Notes  `json:"-"`
	Data  []byte `json:"-"` // bytes of messages, one after the other
}

// Notes are the lines below steps: messages, output of peers, restores. They are in the order of
// the steps, as columns. Lines of one message follow each other, and the first one has its bytes.
type Notes struct {
	Step, Kind, Lane, Text []int
	Size, Kept             []int // bytes of a message, and how many of them are in Data
}

// The kinds of notes.
const (
	FromPeer = iota
	ToPeer
	Output
	Restored
)

// Lane is a column of the drawing: a goroutine, the clock, or a peer.
type Lane struct {
	Name    string `json:"name"`
	Note    string `json:"note"` // what it runs
	Created string `json:"created"`
	Blocked string `json:"blocked"` // what it waits for in the end
	Peer    bool   `json:"peer"`
}

// Template is what many steps have in common. The numbers are indices of strings.
// A schedule of a million steps has but some hundred templates.
type Template struct {
	Operation int         `json:"op"`
	Source    int         `json:"at"`
	Function  int         `json:"in"`
	Library   int         `json:"lib"`
	Kind      report.Kind `json:"kind"`
	Stack     int         `json:"stack"` // index of a stack
	Preempts  bool        `json:"preempts"`
	Cached    bool        `json:"cached"`
}

// Call is a call on a stack.
type Call struct {
	Function string `json:"in"`
	Source   string `json:"at"`
}

// Source is a part of a source file. The file is named as in places.
type Source struct {
	File  string   `json:"file"`
	First int      `json:"first"` // the number of the first line
	Lines []string `json:"lines"`
}

// builder makes a page. It keeps what was given a number.
type builder struct {
	// The page so far, and the steps that it shows.
	page    Page
	steps   []report.Step
	numbers []int // of each step, its index in the counterexample
	// Numbers that were given: each is an index in a table of the page.
	strings   map[string]int
	templates map[Template]int
	stacks    map[stackKey]int
	calls     map[string]int
	lanes     map[int]int // by goroutine
	peers     *peerLanes
}

// stackKey tells stacks apart quickly: most of those of the same place share their memory.
type stackKey struct {
	first *report.Frame
	calls int
}

// Of makes the page of a counterexample with at most the given number of steps. Of more, the middle
// is left out: the end tells more than the beginning and gets three quarters of the room.
func Of(c *report.Counterexample, most int, key map[int]bool) *Page {
	b := &builder{strings: map[string]int{}, templates: map[Template]int{}, stacks: map[stackKey]int{},
		calls: map[string]int{}, lanes: map[int]int{}}
	// Nothing is number 0 in both tables.
	b.string("")
	b.page.Stacks = [][]Call{{}}
	b.cut(c.Steps, most)
	laneOfEach(b, c)
	// Lanes come first, since the steps refer to them.
	for i := range b.steps {
		b.step(i)
		if key[b.numbers[i]] || b.steps[i].Key {
			b.page.Keys = append(b.page.Keys, i)
		}
	}
	// Folds come last: they need the notes to see which steps are alike.
	b.page.After = arrows(b.steps, goroutineNames(c))
	b.notes(c)
	b.page.Folds = b.folds()
	addCache(b, c)
	b.page.Sources = sources(c.Sources)
	return &b.page
}

// cut chooses the steps that are shown.
func (b *builder) cut(steps []report.Step, most int) {
	b.steps = steps
	if omitted := len(steps) - most; omitted > 0 {
		b.page.Gap, b.page.Omitted = most/4, omitted
		b.steps = append(append([]report.Step(nil), steps[:b.page.Gap]...), steps[b.page.Gap+omitted:]...)
	}
	b.page.Steps = len(b.steps)
	b.numbers = make([]int, len(b.steps))
	for i := range b.numbers {
		b.numbers[i] = i
		if i >= b.page.Gap {
			b.numbers[i] += b.page.Omitted
		}
	}
}

// string is the number of a string, which is made printable.
func (b *builder) string(text string) int {
	n, ok := b.strings[text]
	if !ok {
		n = len(b.page.Strings)
		b.page.Strings = append(b.page.Strings, words.Printable(text))
		b.strings[text] = n
	}
	return n
}

// step puts a step into the columns.
func (b *builder) step(i int) {
	s := &b.steps[i]
	t := Template{
		Operation: b.string(s.Operation), Source: b.string(s.Source),
		Function: b.string(words.ShortFunction(s.Function)), Library: b.string(s.Library), Kind: s.Kind,
		Stack: b.stack(s.Stack), Preempts: s.Preempts, Cached: s.Cached,
	}
	// Most steps are like one before.
	n, ok := b.templates[t]
	if !ok {
		n = len(b.page.Templates)
		b.page.Templates = append(b.page.Templates, t)
		b.templates[t] = n
	}
	// One number for each column.
	p := &b.page
	p.Template = append(p.Template, n)
	p.Object = append(p.Object, b.string(s.Object))
	p.Lane = append(p.Lane, b.lanes[s.Goroutine])
}

// stack is the number of a stack.
func (b *builder) stack(frames []report.Frame) int {
	if len(frames) == 0 {
		return 0
	}
	key := stackKey{&frames[0], len(frames)}
	n, ok := b.stacks[key]
	if !ok {
		var calls []Call
		for _, f := range frames {
			calls = append(calls, Call{words.Function(f.Function), words.Printable(f.Source)})
		}
		// It may be the same as one that was made elsewhere.
		text := fmt.Sprint(calls)
		if n, ok = b.calls[text]; !ok {
			n = len(b.page.Stacks)
			b.page.Stacks = append(b.page.Stacks, calls)
			b.calls[text] = n
		}
		b.stacks[key] = n
	}
	return n
}

// maxSource bounds the bytes of source in a page.
const maxSource = 1 << 20

// sources are parts of source files. Tabs stay, since source has them.
func sources(all []report.SourcePart) []Source {
	list := []Source{}
	room := maxSource
	for _, part := range all {
		s := Source{File: words.Printable(part.File), First: part.First}
		for _, line := range part.Lines {
			// The parts that come first are those with most steps.
			if room -= len(line); room < 0 {
				return list
			}
			s.Lines = append(s.Lines, words.PrintableText(line))
		}
		list = append(list, s)
	}
	return list
}
