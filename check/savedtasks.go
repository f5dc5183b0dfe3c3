package check

import (
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/explore"
)

// savedTask is what a part of the search has found out that its owner has not taken
// yet. Executions are counted from the first of these.
type savedTask struct {
	Kinds []string       `json:"kinds,omitempty"` // of findings that there have been
	Found []savedFinding `json:"found,omitempty"`
	Noted int            `json:"noted"`
	Done  *savedFinding  `json:"done,omitempty"` // an execution that was reported, and not noted
}

// savedFinding is a finding. Length and Outcome are those of an execution that was not noted.
type savedFinding struct {
	At          int             `json:"at,omitempty"`
	Kind        string          `json:"kind,omitempty"`
	IsViolation bool            `json:"is_violation,omitempty"`
	Limited     string          `json:"limited,omitempty"`
	Checked     bool            `json:"checked,omitempty"`
	Kept        *savedViolation `json:"kept,omitempty"`
	Counts      Counts          `json:"counts,omitzero"`
	Empty       bool            `json:"empty,omitempty"` // there is nothing to know of the execution
	Length      int             `json:"length,omitempty"`
	Outcome     explore.Outcome `json:"outcome,omitempty"`
}

func (v *violation) saved() savedViolation {
	return savedViolation{Schedule: v.prefix, Hits: v.hits, Tests: v.tests, Executions: v.executions}
}

// savedTasks lists what is to be saved of the tasks beside their searches, in the order of the
// parts: each one before its own. Nobody may be advancing them.
func (p *pool) savedTasks(s explore.Search) (list []savedTask) {
	for _, part := range explore.Parts(s) {
		list = append(list, p.tasks[part].saved())
		list = append(list, p.savedTasks(part.Search)...)
	}
	return list
}

func (t *task) saved() savedTask {
	s := savedTask{Kinds: slices.Sorted(maps.Keys(t.seen)), Noted: t.noted - t.taken}
	for _, f := range t.found {
		found := f.finding.saved()
		found.At = f.at - t.taken
		s.Found = append(s.Found, found)
	}
	if t.reported {
		done := t.done.finding.saved()
		done.Length, done.Outcome = t.done.Length, t.done.Outcome
		s.Done = &done
	}
	return s
}

func (f *finding) saved() savedFinding {
	if f == nil {
		return savedFinding{Empty: true}
	}
	s := savedFinding{Kind: f.kind, IsViolation: f.isViolation, Limited: f.limited, Checked: f.checked, Counts: f.counts}
	if f.kept != nil {
		kept := f.kept.saved()
		s.Kept = &kept
	}
	return s
}

// resume makes tasks of the parts of a search that was resumed, and of theirs, and returns
// what was saved of others.
func (p *pool) resume(owner *task, saved []savedTask) (rest []savedTask, err error) {
	for _, part := range explore.Parts(owner.search) {
		if len(saved) == 0 {
			return nil, errTasks
		}
		t := &task{search: part.Search, part: part, owner: owner, seen: map[string]bool{}}
		if err := p.run.recallTask(t, &saved[0]); err != nil {
			return nil, err
		}
		p.tasks[part] = t
		p.ahead += t.noted
		ahead := part.Ahead()
		p.total.Executions += ahead.Executions
		p.total.Transitions += ahead.Transitions
		p.total.Redundant += ahead.Redundant
		p.total.Limited += ahead.Limited
		p.total.Violations += ahead.Violations
		if saved, err = p.resume(t, saved[1:]); err != nil {
			return nil, err
		}
		p.ready = slices.Insert(p.ready, 0, t) // what comes first is gone on with first
	}
	return saved, nil
}

// recallTask puts into a task what was saved of it.
func (r *run) recallTask(t *task, s *savedTask) error {
	for _, kind := range s.Kinds {
		t.seen[kind] = true
	}
	t.noted = s.Noted
	for i := range s.Found {
		f, err := r.recallFinding(&s.Found[i])
		if err != nil {
			return err
		}
		t.found = append(t.found, numbered{s.Found[i].At, f})
	}
	if s.Done == nil {
		return nil
	}
	f, err := r.recallFinding(s.Done)
	t.reported, t.done = true, done{explore.Execution{Outcome: s.Done.Outcome, Length: s.Done.Length}, f}
	return err
}

func (r *run) recallFinding(s *savedFinding) (*finding, error) {
	if s.Empty {
		return nil, nil
	}
	f := &finding{kind: s.Kind, isViolation: s.IsViolation, limited: s.Limited, checked: s.Checked, counts: s.Counts}
	if s.Kept == nil {
		return f, nil
	}
	var err error
	f.kept, err = r.recallViolation(s.Kept)
	return f, err
}
