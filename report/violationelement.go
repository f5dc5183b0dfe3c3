package report

import (
	"fmt"

	"github.com/tandem-mc/tandem/internal/textutil"
)

// violationElement is a violation in JSON: what tells it apart, and the counterexample if that is
// known. A field that is added here, or in what it refers to, has to be described in the schema; a
// test says so.
type violationElement struct {
	Rule        string         `json:"rule"`
	Fingerprint string         `json:"fingerprint"`
	Outcome     string         `json:"outcome"`
	Message     string         `json:"message,omitempty"`
	At          []placeElement `json:"at,omitempty"`
	Places      []string       `json:"places,omitempty"`
	Functions   []string       `json:"functions,omitempty"`
	Executions  int            `json:"executions,omitempty"`
	Preemptions int            `json:"preemptions"`
	Transitions int            `json:"transitions"`
	File        string         `json:"file,omitempty"`
	// Of several programs: which one has it, and what they do to each other.
	Node    string           `json:"node,omitempty"`
	Network []networkElement `json:"network,omitempty"`
	*counterexampleElement
}

// counterexampleElement is the execution that shows a violation. In JSON it is a part of the
// violation, so that a reader finds all of it in one place.
type counterexampleElement struct {
	Failure    failureElement     `json:"failure"`
	Race       *raceElement       `json:"race,omitempty"`
	Goroutines []goroutineElement `json:"goroutines"`
	Schedule   []stepElement      `json:"schedule"`
	Outputs    []outputElement    `json:"outputs"`
	Unheard    bool               `json:"outputs_incomplete,omitempty"`
	PeerTimer  *peerTimerElement  `json:"peer_timer,omitempty"`
	Shrunk     *shrunkElement     `json:"shrunk,omitempty"`
	Replay     Schedule           `json:"replay,omitempty"`
}

// networkElement is what one of several programs does to others, or takes from them. Without a name
// the common clock advances. Bytes may be any, so they are in base64.
type networkElement struct {
	Node    string  `json:"node,omitempty"`
	Kind    string  `json:"kind"`
	Conn    string  `json:"connection,omitempty"`
	Address string  `json:"address,omitempty"`
	Data    []byte  `json:"data,omitempty"`
	Taken   int     `json:"taken,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Text    string  `json:"text"`
}

// placeElement is a line of a file of the source tree.
type placeElement struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// failureElement is how the execution ended.
type failureElement struct {
	Headline string `json:"headline"`
	Message  string `json:"message"`
	Status   int    `json:"status,omitempty"`
	Printed  string `json:"printed,omitempty"`
}

// raceElement is a data race.
type raceElement struct {
	Later   accessElement `json:"later"`
	Earlier accessElement `json:"earlier"`
}

// accessElement is an access to memory. The address is text, since readers of JSON take numbers for
// floating-point ones.
type accessElement struct {
	Operation string           `json:"operation"`
	Address   string           `json:"address"`
	Size      int              `json:"size,omitempty"`
	Goroutine goroutineElement `json:"goroutine"`
	Stack     []frameElement   `json:"stack"`
}

// frameElement is a call on a stack. A call in another module has no place, since its source is not
// a part of the tree.
type frameElement struct {
	Function string        `json:"function"`
	Source   string        `json:"source,omitempty"`
	At       *placeElement `json:"at,omitempty"`
}

// goroutineElement is a goroutine of the program, or what acts like one.
type goroutineElement struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Function string `json:"function,omitempty"`
	Created  string `json:"created,omitempty"`
	Blocked  string `json:"blocked,omitempty"`
}

// stepElement is a step of the schedule.
type stepElement struct {
	Goroutine int              `json:"goroutine"`
	Operation string           `json:"operation"`
	Object    string           `json:"object,omitempty"`
	Kind      Kind             `json:"kind,omitempty"`
	Source    string           `json:"source,omitempty"`
	At        *placeElement    `json:"at,omitempty"`
	Function  string           `json:"function,omitempty"`
	Stack     []frameElement   `json:"stack,omitempty"`
	Library   string           `json:"library,omitempty"`
	Key       bool             `json:"about_failure,omitempty"`
	Preempts  bool             `json:"preempts,omitempty"`
	Messages  []messageElement `json:"messages,omitempty"`
	Cached    bool             `json:"cached,omitempty"`
	Restored  string           `json:"restored,omitempty"`
}

// messageElement is what went over the network, or what happened to a connection. Bytes may be any,
// so they are in base64.
type messageElement struct {
	Conn     int    `json:"connection"`
	About    string `json:"about,omitempty"`
	ToPeer   bool   `json:"to_peer,omitempty"`
	Data     []byte `json:"data,omitempty"`
	Event    string `json:"event,omitempty"`
	Datagram bool   `json:"datagram,omitempty"`
	Address  string `json:"address,omitempty"`
}

// outputElement is what the program or a peer wrote to standard output and error. As in Output, the
// program has no name, and a step that is not known is -1.
type outputElement struct {
	Step int    `json:"step"`
	Peer string `json:"peer"`
	Text string `json:"text"`
}

// peerTimerElement is a timer of a peer that was set in the end.
type peerTimerElement struct {
	Peer    string  `json:"peer"`
	Seconds float64 `json:"seconds"`
}

// shrunkElement says how complicated the schedule was when it was found.
type shrunkElement struct {
	Executions  int `json:"executions"`
	Preemptions int `json:"preemptions"`
	Transitions int `json:"transitions"`
}

// violationOf is a violation in JSON.
func violationOf(v Violation) violationElement {
	// Texts may come from the program, and a document has to be one that any reader takes.
	e := violationElement{
		Rule: RuleOf(v).ID, Fingerprint: Fingerprint(v), Outcome: valid(v.Outcome),
		Message: valid(v.Message), Places: validAll(v.Places), Functions: validAll(v.Functions),
		Executions:  v.Executions,
		Preemptions: v.Size.Preemptions, Transitions: v.Size.Transitions, File: valid(v.File),
		Node: valid(v.Node),
	}
	for _, step := range v.Network {
		e.Network = append(e.Network, networkElement{valid(step.Node), step.Kind, valid(step.Conn),
			valid(step.Address), []byte(step.Data), step.Taken, step.Time.Seconds(), valid(step.What)})
	}
	for _, at := range v.Where() {
		e.At = append(e.At, placeElement{valid(at.File), at.Line})
	}
	// A violation of which only the short form is known has no schedule, and no empty one either.
	if v.Counterexample != nil {
		e.counterexampleElement = v.Counterexample.element()
	}
	return e
}

// element is the counterexample in JSON. Lists are there when they are empty, too.
func (c *Counterexample) element() *counterexampleElement {
	e := &counterexampleElement{
		Failure: failureElement{valid(c.Failure.Headline()), valid(c.Failure.Message), c.Failure.Status,
			valid(c.Failure.Printed)},
		Goroutines: []goroutineElement{}, Schedule: []stepElement{}, Outputs: []outputElement{},
		Unheard: c.Unheard, Replay: c.Schedule,
	}
	if c.Race != nil {
		e.Race = &raceElement{c.access(c.Race.Later), c.access(c.Race.Earlier)}
	}
	for _, g := range c.Goroutines {
		e.Goroutines = append(e.Goroutines, g.element())
	}
	// A schedule is not cut, however long: what reads it is no person.
	for _, s := range c.Steps {
		e.Schedule = append(e.Schedule, c.step(s))
	}
	for _, o := range c.Outputs {
		e.Outputs = append(e.Outputs, outputElement{o.Step, valid(o.Peer), valid(string(o.Text))})
	}
	if t := c.PeerTimer; t != nil {
		e.PeerTimer = &peerTimerElement{valid(t.Peer), t.Due.Seconds()}
	}
	if s := c.Shrunk; s != nil {
		e.Shrunk = &shrunkElement{s.Executions, s.Before.Preemptions, s.Before.Transitions}
	}
	return e
}

// functionName is the name of a function in JSON: that of the source.
func functionName(linked string) string { return valid(textutil.FunctionName(linked)) }

// element is a goroutine in JSON.
func (g Goroutine) element() goroutineElement {
	return goroutineElement{g.ID, valid(g.Name), functionName(g.Function), valid(g.Created), valid(g.Blocked)}
}

// at is the place that a text ends with; nil: it is in no file of the tree. The text itself stays
// in the document beside it, for people.
func (c *Counterexample) at(text string) *placeElement {
	at, ok := c.Place(text)
	if !ok {
		return nil
	}
	return &placeElement{valid(at.File), at.Line}
}

// access is an access of a data race in JSON.
func (c *Counterexample) access(a MemoryAccess) accessElement {
	e := accessElement{valid(a.Operation), fmt.Sprintf("%#x", a.Address), a.Size, a.Goroutine.element(),
		[]frameElement{}}
	e.Stack = append(e.Stack, c.frames(a.Stack)...)
	return e
}

// frames are the calls on a stack in JSON; nil for none, so that the field can be left out.
func (c *Counterexample) frames(stack []Frame) (list []frameElement) {
	for _, f := range stack {
		list = append(list, frameElement{functionName(f.Function), valid(f.Source), c.at(f.Source)})
	}
	return list
}

// step is a step in JSON.
func (c *Counterexample) step(s Step) stepElement {
	e := stepElement{
		Goroutine: s.Goroutine, Operation: valid(s.Operation), Object: valid(s.Object), Kind: s.Kind,
		Source: valid(s.Source), At: c.at(s.Source), Function: functionName(s.Function), Preempts: s.Preempts,
		Cached: s.Cached, Restored: valid(s.Restored),
		Stack: c.frames(s.Stack), Library: valid(s.Library), Key: s.Key,
	}
	for _, m := range s.IO {
		e.Messages = append(e.Messages, messageElement{m.Conn, valid(m.About), m.ToPeer, m.Data,
			valid(m.Event), m.Datagram, valid(m.Address)})
	}
	return e
}
