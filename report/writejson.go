package report

import (
	"encoding/json"
	"io"
	"strings"
)

// documentVersion is that of the schema. Fields may be added to a version, and keep their meaning
// and type. Whatever else changes needs another version.
const documentVersion = 1

// WriteJSON writes the result of a check as one JSON document, as docs/report.schema.json describes
// it. The error is the writer's. The list of violations is there when it is empty, too. The paths
// are those that RelativeTo has left. Bytes that are no UTF-8 become U+FFFD, but for those of
// messages, which are in base64.
func WriteJSON(w io.Writer, run Run, violations []Violation) error {
	return encodeDocument(w, documentOf(run, violations))
}

// encodeDocument writes a document for programs, which people can read, too.
func encodeDocument(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// document is what WriteJSON writes. Durations are in seconds.
type document struct {
	Version    int                `json:"version"`
	Package    string             `json:"package"`
	Args       []string           `json:"args,omitempty"`
	Nodes      []nodeElement      `json:"nodes,omitempty"`
	Verdict    Verdict            `json:"verdict"`
	Reason     string             `json:"reason"`
	CutOff     string             `json:"cut_off,omitempty"`
	Violations []violationElement `json:"violations"`
	Counts     countsElement      `json:"counts"`
	Assumed    assumedElement     `json:"assumed"`
	Missed     *missedElement     `json:"missed,omitempty"`
	Undialled  []string           `json:"absent_not_dialled,omitempty"`
	// What goes on with a search that has not ended.
	Resume string `json:"resume_command,omitempty"`
}

// missedElement is who was not there, and what adds them to the configuration: lines, without their
// ends, which make a file of their own or go below a key that is there.
type missedElement struct {
	Dialled   []dialElement `json:"dialled,omitempty"`
	Clients   []string      `json:"clients,omitempty"` // addresses at which the program waits for them
	Configure []string      `json:"configure"`         // lines
}

// dialElement is an address, or a name, and what the program got.
type dialElement struct {
	Address string `json:"address"`
	Result  string `json:"result"`
}

// countsElement says how much work the search was.
type countsElement struct {
	Executions  int     `json:"executions"`
	Redundant   int     `json:"redundant"`
	Systematic  int     `json:"systematic,omitempty"` // of a portfolio, as the next ones
	Aimed       int     `json:"aimed,omitempty"`
	Sampled     int     `json:"sampled,omitempty"`
	First       int     `json:"first_violation,omitempty"` // which execution it was
	Transitions int     `json:"transitions"`
	CacheHits   int     `json:"cache_hits"`
	CacheMisses int     `json:"cache_misses"`
	Checkpoints int     `json:"checkpoints"`
	InMemory    int     `json:"checkpoints_in_memory"`
	Refusal     string  `json:"not_in_memory,omitempty"` // why, if they were to be
	Restores    int     `json:"restores"`
	Replayed    int     `json:"replayed"`
	SelfChecked int     `json:"self_checked"`
	Seconds     float64 `json:"seconds"`
	Skeletons   int     `json:"skeletons,omitempty"` // of several programs, as the next ones
	Local       int     `json:"local_executions,omitempty"`
	Global      float64 `json:"global_executions,omitempty"`
}

// nodeElement is one of several programs.
type nodeElement struct {
	Name    string   `json:"name"`
	Package string   `json:"package"`
	Args    []string `json:"args,omitempty"`
	Listen  string   `json:"listen,omitempty"`
}

// assumedElement is what the verdict rests on.
type assumedElement struct {
	Strategy    string   `json:"strategy,omitempty"`
	Scope       string   `json:"scope,omitempty"`
	Backend     string   `json:"backend,omitempty"`
	Preemptible []string `json:"preemptible"`
	Other       []string `json:"other,omitempty"`
}

// documentOf is a check as a document.
func documentOf(run Run, violations []Violation) document {
	n := run.Counts
	d := document{
		Version: documentVersion, Package: valid(run.Package), Args: validAll(run.Args), Verdict: run.Verdict,
		Reason: valid(run.Reason), CutOff: valid(run.CutOff),
		Violations: []violationElement{},
		Counts: countsElement{
			n.Executions, n.Redundant, n.Systematic, n.Aimed, n.Sampled, n.FirstViolation, n.Transitions,
			n.CacheHits, n.CacheMisses, n.Checkpoints, n.InMemory,
			valid(n.Refusal),
			n.Restores, n.Replayed, n.SelfChecked, n.Elapsed.Seconds(), n.Skeletons, n.Local, n.Global,
		},
		Assumed: assumedOf(run.Assumptions), Resume: valid(run.ResumeCommand),
	}
	d.Missed, d.Undialled = missedOf(run.Missed), validAll(run.Missed.Undialled)
	for _, node := range run.Nodes {
		d.Nodes = append(d.Nodes,
			nodeElement{valid(node.Name), valid(node.Package), validAll(node.Args), valid(node.Listen)})
	}
	for _, v := range violations {
		d.Violations = append(d.Violations, violationOf(v))
	}
	return d
}

// assumedOf is what a verdict rests on. The list of packages is there when it is empty, too.
func assumedOf(a Assumptions) assumedElement {
	return assumedElement{valid(a.Strategy), valid(a.Scope), valid(a.Backend),
		append([]string{}, validAll(a.Preemptible)...), validAll(a.Other)}
}

// missedOf is nil where all were there. What is missing has lines of configuration, always.
func missedOf(m Missed) *missedElement {
	if len(m.Configure) == 0 {
		return nil
	}
	e := &missedElement{Clients: validAll(m.Clients), Configure: validAll(m.Configure)}
	for _, at := range m.Dialled {
		e.Dialled = append(e.Dialled, dialElement{valid(at.Address), valid(at.Result)})
	}
	return e
}

// valid replaces bytes that are no UTF-8, which JSON cannot hold.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// validAll is valid for a list.
func validAll(list []string) (out []string) {
	for _, text := range list {
		out = append(out, valid(text))
	}
	return out
}
