package iocache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// history is all that a group was given, byte by byte: the naive key of a place.
type history []string

func (h history) key() string { return strings.Join(h, " ") }

// with is the history after one more input.
func (h history) with(in Input) history {
	h = slices.Clone(h)
	if in.Kind != Send {
		return append(h, fmt.Sprintf("%v:%d:%s", in.Kind, in.Conn, in.Addr))
	}
	for _, b := range in.Data {
		h = append(h, fmt.Sprintf("send:%d:%c", in.Conn, b))
	}
	return h
}

// simulated is a peer group whose answers depend on all that it was given. Every
// byte may make it answer on any connection, end one, or reset one.
type simulated struct {
	conns   []connState
	ended   [3]bool // its processes
	memory  uint32
	chunked bool // answers depend on how requests are cut, too
}

// perform gives the group an input and returns its whole reaction.
func (s *simulated) perform(in Input) Reaction {
	var r Reaction
	if in.Kind == Choose {
		s.stir(100 + byte(in.Conn))
		return r
	}
	if in.Opens() {
		s.stir(200 + byte(len(in.Addr)) + byte(in.Kind))
		if s.memory>>8%5 == 0 {
			s.conns = append(s.conns, refused)
			return Reaction{Refused: 111}
		}
		state := connState(0)
		if in.Kind == Listen {
			state = listening
		}
		s.conns = append(s.conns, state)
		s.react(&r)
		return r.Normal()
	}
	place := place{conns: s.conns}
	if !place.reaches(&in) {
		return r
	}
	switch in.Kind {
	case Shutdown:
		s.conns[in.Conn] |= shut
	case Close:
		s.conns[in.Conn] |= closed
	case Send:
		for _, b := range in.Data {
			if s.conns[in.Conn].gone() {
				return r.Normal()
			}
			s.stir(b + byte(in.Conn)*16)
			s.react(&r)
		}
		if s.chunked {
			s.stir(byte(len(in.Data)))
		}
		return r.Normal()
	}
	s.stir(byte(in.Kind) + byte(in.Conn)*16)
	s.react(&r)
	return r.Normal()
}

func (s *simulated) stir(b byte) { s.memory = (s.memory ^ uint32(b)) * 16777619 }

// react adds what the group does about the last byte.
func (s *simulated) react(r *Reaction) {
	dice := s.memory >> 10
	d := Delivery{Conn: int(dice) % len(s.conns)}
	switch dice / 8 % 8 {
	case 0, 1, 2:
		d.Data = []byte{'A' + byte(dice/64%3)}
	case 3:
		d.Data = []byte{'A' + byte(dice/64%3), 'x'}
	case 4:
		d.End = End(dice / 64 % 4 % 3)
	case 5:
		if s.conns[d.Conn]&(listening|closed) == listening && len(s.conns) < maxSimulated {
			r.Opened = append(r.Opened, d.Conn)
			d.Conn, s.conns = len(s.conns), append(s.conns, 0)
		}
	case 6:
		if peer := int(dice / 64 % 3); !s.ended[peer] {
			s.ended[peer] = true
			r.Ended = append(r.Ended, Ending{Peer: peer, Status: int(dice / 256 % 2)})
		}
	}
	state, objection := s.conns[d.Conn].deliver(d)
	if objection == "" {
		s.conns[d.Conn] = state
		r.Deliveries = append(r.Deliveries, d)
	}
}

// maxSimulated is how many connections and listeners a simulated group goes up to.
const maxSimulated = 6

// world is what the executions of one test have in common.
type world struct {
	seed     uint32 // of the group's answers
	chunked  bool
	conns    int    // a SUT opens at most
	requests string // what it may send, a regular expression
}

func drawWorld(t *rapid.T, chunked bool) world {
	return world{
		seed:     rapid.Uint32().Draw(t, "seed"),
		chunked:  chunked,
		conns:    rapid.IntRange(1, 3).Draw(t, "conns"),
		requests: rapid.SampledFrom([]string{"a{0,5}", "a{0,4}b?", "[ab]{0,3}"}).Draw(t, "requests"),
	}
}

func (w world) group() *simulated { return &simulated{memory: w.seed, chunked: w.chunked} }

// replay brings a fresh group to a place and checks the answers on the way.
func (w world) replay(c *Cache, to NodeID) (*simulated, Reaction, error) {
	group := w.group()
	var seen Reaction
	for _, step := range must(c.Path(Root, to)) {
		got := group.perform(step.Input)
		seen = accumulate(seen, got)
		if err := c.Compare(step, got); err != nil {
			return nil, seen, err
		}
	}
	return group, seen, nil
}

// accumulate puts together all that an execution has received. What connect says
// about refusal is not part of it.
func accumulate(seen, more Reaction) Reaction {
	more.Refused = 0
	return join(seen, more)
}

// twin is the cache as one would first describe it: a list of all places where a
// group was once quiescent and of all the runs that it made from place to place.
type twin struct {
	world
	made   map[string]int // places, and when they were made
	images map[string]string
	runs   []twinRun
}

type twinRun struct{ from, to string }

// verified says whether the group has run from the place before h to or through h
// since both are places.
func (w *twin) verified(h history) bool {
	base := len(h) - 1
	for ; !w.place(h[:base]); base-- {
	}
	for i, run := range w.runs {
		if i >= w.made[h.key()] && run.from == h[:base].key() && strings.HasPrefix(run.to+" ", h.key()+" ") {
			return true
		}
	}
	return false
}

func (w *twin) place(h history) bool {
	_, ok := w.made[h.key()]
	return ok
}

// lookup returns the place up to which an input can be answered.
func (w *twin) lookup(h history, in Input) (next history, hit bool) {
	if w.unreachable(h, in) {
		return h, true
	}
	whole, last := h.with(in), h
	for i := len(h) + 1; i <= len(whole); i++ {
		if !w.place(whole[:i]) {
			continue
		}
		if !w.verified(whole[:i]) {
			break
		}
		last = whole[:i]
		if in.Kind == Send && w.after(last).conns[in.Conn].gone() {
			return last, true
		}
	}
	return last, len(last) == len(whole)
}

// record notes a run of the group and returns where it has ended.
func (w *twin) record(h history, in Input) history {
	end := h.with(in)
	for i := len(h) + 1; i < len(end); i++ {
		if in.Kind == Send && w.place(end[:i]) && w.after(end[:i]).conns[in.Conn].gone() {
			end = end[:i]
		}
	}
	if !w.place(end) {
		w.made[end.key()] = len(w.runs)
	}
	w.runs = append(w.runs, twinRun{h.key(), end.key()})
	return end
}

func (w *twin) nearest(h history) (at history, image string) {
	for i := len(h); i >= 0; i-- {
		if image, ok := w.images[h[:i].key()]; ok {
			return h[:i], image
		}
	}
	return nil, ""
}

// inputs turns a history back into inputs, one for each byte.
func (h history) inputs() []Input {
	var inputs []Input
	for _, token := range h {
		fields := strings.SplitN(token, ":", 3)
		in := Input{Conn: int(fields[1][0] - '0')}
		for in.Kind = Connect; in.Kind.String() != fields[0]; in.Kind++ {
		}
		if in.Opens() {
			in.Addr = fields[2]
		} else if in.Kind == Send {
			in.Data = []byte(fields[2])
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// noticed is what the peers notice of a history: not what is sent on a connection that they have
// reset.
func (w world) noticed(h history) history {
	group := w.group()
	return slices.DeleteFunc(slices.Clone(h), func(token string) bool {
		in := history{token}.inputs()[0]
		if in.Kind == Send && group.conns[in.Conn].gone() {
			return true
		}
		group.perform(in)
		return false
	})
}

// after is a fresh group after a history.
func (w world) after(h history) *simulated {
	g := w.group()
	for _, in := range h.inputs() {
		g.perform(in)
	}
	return g
}

// unreachable says whether the input cannot reach the group.
func (w world) unreachable(h history, in Input) bool {
	place := place{conns: w.after(h).conns}
	return !place.reaches(&in)
}

// between is what the group does on the way from one place to another.
func (w world) between(from, to history) Reaction {
	g := w.after(from)
	var r Reaction
	for _, in := range to.inputs()[len(from):] {
		r = join(r, g.perform(in))
	}
	return r
}

// drawInput draws something that a SUT with so many connections can do; begun says that
// it has done something.
func (w world) drawInput(t *rapid.T, conns []connState, begun bool) Input {
	kinds := []Kind{Send, Send, Send, Send, Send, Send, Send, Shutdown, Close, Pass}
	if len(conns) < w.conns {
		kinds = append(kinds, Connect, Listen)
	}
	if len(conns) == 0 {
		kinds = []Kind{Connect, Listen}
	}
	if !begun {
		kinds = []Kind{Connect, Listen, Choose}
	}
	in := Input{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Conn: len(conns)}
	if in.Opens() {
		in.Addr = rapid.SampledFrom([]string{"a:1", "a:1", "a:1", "bb:2"}).Draw(t, "addr")
		return in
	}
	if in.Kind == Choose {
		in.Conn = rapid.IntRange(0, 2).Draw(t, "behaviour")
		return in
	}
	if in.Kind == Pass {
		in.Conn = 0
		return in
	}
	in.Conn = rapid.IntRange(0, len(conns)-1).Draw(t, "conn")
	if conns[in.Conn]&listening != 0 {
		in.Kind = Close
	}
	if in.Kind == Send {
		in.Data = []byte(rapid.StringMatching(w.requests).Draw(t, "data"))
	}
	return in
}

// TestTwin runs random executions against the cache and its dumb twin at once.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(Limits{})
		w := &twin{world: drawWorld(t, false), made: map[string]int{"": 0}, images: map[string]string{}}
		nodes := map[NodeID]string{Root: ""}
		for range rapid.IntRange(1, 30).Draw(t, "executions") {
			cur, h := Root, history{}
			for range rapid.IntRange(1, 8).Draw(t, "inputs") {
				cur, h = twinStep(t, c, w, cur, h)
				if was, ok := nodes[cur]; ok && was != h.key() {
					t.Fatalf("place %d is both %q and %q", cur, was, h.key())
				}
				nodes[cur] = h.key()
			}
		}
		c.checkTree(t)
	})
}

func twinStep(t *rapid.T, c *Cache, w *twin, cur NodeID, h history) (NodeID, history) {
	in := w.drawInput(t, w.after(h).conns, len(h) > 0)
	next, served, rest, hit, _ := c.Lookup(cur, in)
	wantNext, wantHit := w.lookup(h, in)
	if want := w.between(h, wantNext); hit != wantHit || !served.Equal(want) {
		t.Fatalf("%v after %q: hit %v with %v, want %v with %v\n"+
			"%s", in, h.key(), hit, served, wantHit, want, c.dump())
	}
	if !hit {
		standing, _, err := w.replay(c, next)
		if err != nil {
			t.Fatalf("replay of %q: %v\n%s", wantNext.key(), err, c.dump())
		}
		if got, want := wantNext.with(rest), h.with(in); !slices.Equal(got, want) {
			t.Fatalf("the group would be given %q, want %q", got, want)
		}
		if next, err = c.Record(next, rest, standing.perform(rest)); err != nil {
			t.Fatalf("record %v: %v\n%s", rest, err, c.dump())
		}
		wantNext = w.record(wantNext, rest)
	}
	if rapid.IntRange(0, 3).Draw(t, "image") == 0 {
		image := fmt.Sprint("image-", next)
		c.SetImage(Position{next}, image, "criu")
		w.images[wantNext.key()] = image
	}
	at, image, ok := c.Nearest(Position{next})
	if wantAt, wantImage := w.nearest(wantNext); image != wantImage || ok != (wantImage != "") || ok &&
		pathHistory(c, at[0]).key() != wantAt.key() {
		t.Fatalf("nearest checkpoint of %q: %q at %v, want %q at "+
			"%q", wantNext.key(), image, at, wantImage, wantAt.key())
	}
	return next, wantNext
}

// pathHistory is the history of a place, from its path.
func pathHistory(c *Cache, n NodeID) history {
	h := history{}
	for _, step := range must(c.Path(Root, n)) {
		h = h.with(step.Input)
	}
	return h
}

// checkTree checks what must hold of the structure at any time.
func (c *Cache) checkTree(t *rapid.T) {
	reachable, size, having := 0, int64(len(c.nodes))*nodeBytes, make([]int32, len(c.answers))
	for i := range c.nodes {
		n := NodeID(i)
		if d := &c.nodes[n]; n != Root {
			if !d.answered && len(c.children(n)) < 2 {
				t.Fatalf("branching point %d has %d children\n%s", n, len(c.children(n)), c.dump())
			}
		}
		if answer := c.nodes[n].answer; answer != 0 {
			having[answer]++
		}
		for _, child := range c.children(n) {
			reachable++
			if c.nodes[child].parent != n {
				t.Fatalf("node %d is below %d and says it is below %d", child, n, c.nodes[child].parent)
			}
			if c.child(c.edgeTo(child)) != child {
				t.Fatalf("the table of edges does not lead from %d to %d\n%s", n, child, c.dump())
			}
		}
	}
	if reachable != len(c.nodes)-1 || c.edges.taken != reachable {
		t.Fatalf("%d nodes, %d of them reachable, %d edges", len(c.nodes), reachable, c.edges.taken)
	}
	spillable := int64(0)
	for id := range c.answers {
		a := &c.answers[id]
		spillable += a.gain()
		if a.nodes != having[id] {
			t.Fatalf("answer %d is that of %d nodes, and %d are counted", id, having[id], a.nodes)
		}
		if size += a.size(); a.nodes > 0 {
			size += answerBytes
		}
	}
	if c.spillable != spillable {
		t.Fatalf("spilling frees %d bytes, and %d are counted", spillable, c.spillable)
	}
	if c.bytes < size {
		t.Fatalf("%d bytes counted, nodes and answers alone hold %d", c.bytes, size)
	}
}

// TestPeerThatSeesWrites checks that a group whose answers depend on how requests
// are cut never makes the cache mix two of its histories: what an execution has
// received is always what the places on its path say, and whenever the group must
// be asked it has said the same itself, or the contradiction is reported.
func TestPeerThatSeesWrites(t *testing.T) {
	reported := 0
	rapid.Check(t, func(t *rapid.T) {
		c, w := New(Limits{}), drawWorld(t, true)
		for range rapid.IntRange(1, 30).Draw(t, "executions") {
			cur := Root
			var seen Reaction
			for range rapid.IntRange(1, 8).Draw(t, "inputs") {
				in := w.drawInput(t, c.place(cur).conns, cur != Root)
				next, answer, err := w.ask(t, c, cur, in, seen)
				if err != nil {
					var contradiction *Inconsistency
					if !errors.As(err, &contradiction) || contradiction.Want.Equal(contradiction.Got) &&
						!contradiction.Cut {
						t.Fatalf("not a contradiction: %v", err)
					}
					c.checkTree(t)
					reported++
					return
				}
				cur, seen = next, accumulate(seen, answer)
			}
		}
	})
	if reported == 0 {
		t.Error("no contradiction was ever reported")
	}
}

// ask does what a checker does with an input: look it up, and on a
// miss bring a group to the place and ask it.
func (w world) ask(t *rapid.T, c *Cache, cur NodeID, in Input, seen Reaction) (NodeID, Reaction, error) {
	next, answer, rest, hit, _ := c.Lookup(cur, in)
	var onPath Reaction
	for _, step := range must(c.Path(Root, next)) {
		onPath = accumulate(onPath, step.Reaction)
	}
	if got := accumulate(seen, answer); !got.Equal(onPath) {
		t.Fatalf("the execution received %v, its path says %v\n%s", got, onPath, c.dump())
	}
	if hit {
		return next, answer, nil
	}
	standing, said, err := w.replay(c, next)
	if err != nil {
		return cur, answer, err
	}
	if !said.Equal(onPath) {
		t.Fatalf("the group said %v and the execution received %v", said, onPath)
	}
	more := standing.perform(rest)
	next, err = c.Record(next, rest, more)
	return next, accumulate(answer, more), err
}
