package iocache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/internal/model"
)

// peersTwin is what a cache and the groups that it stands for look like to somebody naive: maps
// of histories.
type peersTwin struct {
	seed   uint32
	images map[string]imageTwin // by what they are called
}

// imageTwin is a physical checkpoint: for each tree what had been given in it.
type imageTwin map[string]history // by the name of the tree

// groupTwin is a running group: for each tree, what it has become. In group scope there is one.
type groupTwin struct {
	parts     map[string]*simulated
	histories map[string]history
}

func (w *peersTwin) start() *groupTwin {
	return &groupTwin{parts: map[string]*simulated{}, histories: map[string]history{}}
}

// part is what answers in a tree. What it answers depends on the tree.
func (w *peersTwin) part(g *groupTwin, tree string) *simulated {
	s := g.parts[tree]
	if s == nil {
		s = &simulated{memory: w.seed, ended: [3]bool{true, true, true}} // no peer ends
		for _, b := range []byte(tree) {
			s.stir(b)
		}
		g.parts[tree] = s
	}
	return s
}

// perform gives a group an input as it is in a tree.
func (w *peersTwin) perform(g *groupTwin, tree string, in Input) Reaction {
	in.Name = ""
	part := w.part(g, tree)
	if in.Kind != Send {
		if in.Kind == Choose || (place{conns: part.conns}).reaches(&in) {
			g.histories[tree] = g.histories[tree].with(in)
		}
		return part.perform(in)
	}
	var r Reaction
	for _, b := range in.Data {
		// else the rest reaches nobody
		if in.Data = []byte{b}; (place{conns: part.conns}).reaches(&in) {
			g.histories[tree] = g.histories[tree].with(in)
			r = join(r, part.perform(in))
		}
	}
	return r
}

// wasReset says whether a peer has reset a connection: what was sent in one piece until then
// and afterwards is kept as it was sent.
func (g *groupTwin) wasReset() bool {
	for _, part := range g.parts {
		if slices.ContainsFunc(part.conns, func(s connState) bool { return s&reset != 0 }) {
			return true
		}
	}
	return false
}

// serves says whether a group with such histories can be brought to others.
func serves(from imageTwin, to map[string]history) bool {
	for tree, h := range from {
		if len(h) > len(to[tree]) || !slices.Equal(h, to[tree][:len(h)]) {
			return false
		}
	}
	return true
}

// scripted is an execution against both.
type scripted struct {
	*rapid.T
	cache *Cache
	twin  *peersTwin
	x     *Cursor
	group *groupTwin // the one that is running
	at    Position   // where it stands

	names   []string            // of the connections of the execution
	vectors map[string]Position // of images
	saved   int
	file    []byte                  // all that was recorded
	places  map[NodeID]*placeOfTwin // that were given out
}

type placeOfTwin struct{ tree, history string }

// tree is that of an input.
func (s *scripted) tree(in Input) string {
	if s.x.scope == Group || in.Kind == Choose {
		return ""
	}
	if in.Kind == Connect {
		return in.Name
	}
	return s.names[in.Conn]
}

// draw draws an input that an execution can make.
func (s *scripted) draw() Input {
	kinds := []Kind{Send, Send, Send, Send, Send, Shutdown, Close}
	if len(s.names) < 3 {
		kinds = append(kinds, Connect)
	}
	if len(s.names) == 0 {
		kinds = []Kind{Connect}
	}
	in := Input{Kind: rapid.SampledFrom(kinds).Draw(s.T, "kind")}
	if in.Kind == Connect {
		in.Conn, in.Addr = len(s.names), rapid.SampledFrom([]string{"a:1", "b:2"}).Draw(s.T, "address")
		free := slices.DeleteFunc([]string{"one", "two", "three"},
			func(name string) bool { return slices.Contains(s.names, name) })
		name := rapid.SampledFrom(free).Draw(s.T, "name")
		s.names = append(s.names, name)
		if s.x.scope == Connection {
			in.Name = name
		}
		return in
	}
	in.Conn = rapid.IntRange(0, len(s.names)-1).Draw(s.T, "connection")
	if in.Kind == Send {
		in.Data = []byte(rapid.StringMatching("[ab]{0,3}").Draw(s.T, "data"))
	}
	return in
}

// local is an input as it is in its tree.
func (s *scripted) local(in Input) Input {
	if s.x.scope == Connection {
		in.Conn = 0
	}
	in.Name = ""
	return in
}

// execute runs one execution.
func (s *scripted) execute() {
	s.x.Rewind()
	s.names = nil
	fresh := s.twin.start()
	for range rapid.IntRange(1, 8).Draw(s.T, "inputs") {
		in := s.draw()
		tree := s.tree(in)
		answer := s.give(in, tree)
		want := s.twin.part(fresh, tree).perform(s.local(in))
		if in.Kind == Connect && answer.Refused != want.Refused {
			s.Fatalf("%v: errno %d, want %d", in, answer.Refused, want.Refused)
		}
		if got, want := accumulate(Reaction{}, answer),
			accumulate(Reaction{}, s.global(want, in)); !got.Equal(want) {
			s.Fatalf("%v: %v, want %v\n%s", in, got, want, s.cache.dump())
		}
	}
}

func (s *scripted) global(r Reaction, in Input) Reaction {
	if s.x.scope == Connection {
		r = r.Clone()
		for i := range r.Deliveries {
			r.Deliveries[i].Conn = in.Conn
		}
	}
	return r
}

// give does what a checker does with an input of an execution.
func (s *scripted) give(in Input, tree string) Reaction {
	served, rest, hit, _ := s.x.Lookup(in)
	if hit {
		if known := s.known(tree); !known {
			s.Fatalf("%v was answered, and the peers have never been where it leads\n%s", in, s.cache.dump())
		}
		return served
	}
	s.stand()
	if far, ok := s.cache.Distance(s.at, s.x.At()); !ok || far != 0 {
		s.Fatalf("the group stands at %v and not at %v", s.at, s.x.At())
	}
	local := rest
	local.Conn, local.Name = s.local(in).Conn, in.Name
	r := s.twin.perform(s.group, tree, local)
	entry, err := s.x.Record(rest, s.global(r, in))
	if err != nil {
		s.Fatalf("record %v: %v\n%s", rest, err, s.cache.dump())
	}
	if entry.Input.Conn != local.Conn || !slices.Equal(entry.Input.Data, local.Data) {
		s.Fatalf("the entry is %v", entry)
	}
	s.file = AppendEntry(s.file, entry)
	s.at = slices.Clone(s.x.At())
	s.note()
	s.save()
	return join(served, s.global(r, in))
}

// known says whether the places of the execution are some at which the group has stood.
func (s *scripted) known(tree string) bool {
	n := s.x.Node()
	return n == Root || s.places[n] != nil && (s.x.scope == Group || s.places[n].tree == tree)
}

// note keeps what the group has been given at each of its places. A place means one history.
func (s *scripted) note() {
	for _, n := range s.at {
		if n == Root {
			continue
		}
		tree := s.cache.Name(n)
		now := &placeOfTwin{tree, s.group.histories[tree].key()}
		if was := s.places[n]; was != nil && *was != *now {
			s.Fatalf("place %d is after %v, and was after %v", n, *now, *was)
		}
		s.places[n] = now
	}
}

// save now and then takes a checkpoint.
func (s *scripted) save() {
	if rapid.IntRange(0, 2).Draw(s.T, "save") > 0 {
		return
	}
	s.saved++
	name := fmt.Sprint("image ", s.saved)
	for old, v := range s.vectors {
		if slices.Equal(v.canonical(), s.at.canonical()) {
			delete(s.twin.images, old)
			delete(s.vectors, old)
		}
	}
	kept := imageTwin{}
	for tree, h := range s.group.histories {
		kept[tree] = slices.Clone(h)
	}
	s.twin.images[name], s.vectors[name] = kept, slices.Clone(s.at)
	s.cache.SetImage(s.at, name, "criu")
}

// stand brings the group to where the execution is.
func (s *scripted) stand() {
	target := s.twin.start()
	for _, step := range must(s.cache.Missing(Position{Root}, s.x.At())) {
		in := step.Input
		in.Name = ""
		s.twin.perform(target, s.cache.Name(step.Node), in)
	}
	at, image, ok := s.cache.Nearest(s.x.At())
	found := false
	for name, i := range s.twin.images {
		if !serves(i, target.histories) {
			continue
		}
		found = true
		other, above := s.cache.Distance(s.vectors[name], s.x.At())
		if nearest, _ := s.cache.Distance(at, s.x.At()); above && ok && other < nearest {
			s.Fatalf("%s is nearer to %v than %s: %d inputs, not %d", name, s.x.At(), image, other, nearest)
		}
		if (!above || !ok) && !target.wasReset() {
			s.Fatalf("%s serves %v, and was not found", name, s.x.At())
		}
	}
	if ok && !found {
		s.Fatalf("%s does not serve %v", image, s.x.At())
	}
	s.group, s.at = s.twin.start(), Position{Root}
	if ok {
		s.at = at
		for tree, h := range s.twin.images[image] {
			for _, in := range h.inputs() {
				s.twin.perform(s.group, tree, in)
			}
		}
	}
	kinds := s.cache.MissingKinds(s.at, s.x.At())
	for _, step := range must(s.cache.Missing(s.at, s.x.At())) {
		kinds[step.Input.Kind]--
		got := s.twin.perform(s.group, s.cache.Name(step.Node), step.Input)
		if err := s.cache.Compare(step, got); err != nil {
			s.Fatalf("repeating %v: %v", step.Input, err)
		}
		s.at = s.cache.After(s.at, step.Node)
	}
	for kind, n := range kinds {
		if n != 0 {
			s.Fatalf("of the kind %v %d more inputs are counted than there are", kind, n)
		}
	}
}

// TestExecutions runs random scripts of several executions in both scopes: with several
// connections, half close, close, reset, requests that are cut in all ways. What an execution gets
// must be what fresh peers say that were given just that; the checkpoint that is found must be the
// nearest that serves. There are 10,000 executions in both scopes together, by default.
func TestExecutions(t *testing.T) {
	for _, scope := range []Scope{Group, Connection} {
		t.Run(scope.String(), func(t *testing.T) {
			executions := 0
			for executions < 5000 {
				rapid.Check(t, func(t *rapid.T) {
					c := New(Limits{})
					c.SpillTo(&memoryStore{})
					s := &scripted{
						T: t, cache: c, x: c.Cursor(scope), vectors: map[string]Position{},
						places: map[NodeID]*placeOfTwin{},
						twin: &peersTwin{seed: rapid.Uint32().Draw(t, "seed"),
							images: map[string]imageTwin{}},
					}
					for range rapid.IntRange(1, 20).Draw(t, "executions") {
						s.execute()
						s.spill()
						executions++
					}
					c.checkTree(t)
					s.restore()
				})
			}
		})
	}
}

// spill now and then puts all reactions into the store.
func (s *scripted) spill() {
	if rapid.IntRange(0, 3).Draw(s.T, "spill") > 0 {
		return
	}
	for id := range s.cache.answers {
		if a := &s.cache.answers[id]; !a.spilled && a.size() > 0 {
			s.cache.spill(answerID(id))
		}
	}
}

// restore reads what was recorded from a file.
func (s *scripted) restore() {
	r, err := NewReader(bytes.NewReader(append(AppendHeader(nil, ""), s.file...)))
	if err != nil {
		s.Fatal(err)
	}
	again := New(Limits{})
	for {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			entry, err = ParseText(string(entry.AppendText(nil)))
		}
		if err == nil {
			err = again.Restore(entry)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	if was, is := s.cache.dump(), again.dump(); was != is {
		s.Fatalf("from a file it becomes\n%s\nit was\n%s", is, was)
	}
}

// TestDependence: what arrives on another connection than that of the input is no answer that
// connection scope could keep.
func TestDependence(t *testing.T) {
	c := New(Limits{})
	x := c.Cursor(Connection)
	for i, name := range []string{"one", "two"} {
		if _, err := x.Record(Input{Kind: Connect, Conn: i, Addr: "a:1", Name: name},
			Reaction{}); err != nil {
			t.Fatal(err)
		}
	}
	before := c.dump()
	_, err := x.Record(Input{Kind: Send, Conn: 0, Data: []byte("publish")},
		Reaction{Deliveries: []Delivery{{Conn: 1, Data: []byte("news")}}})
	var dependence *Dependence
	if !errors.As(err, &dependence) || !strings.Contains(err.Error(), `send 0 "publish"`) ||
		!strings.Contains(err.Error(), `1:"news"`) {
		t.Errorf("%v", err)
	}
	if after := c.dump(); after != before {
		t.Errorf("the cache has changed:\n%s", after)
	}
}

// TestExecutionRefusesNamelessConnections: in connection scope they would have no tree.
func TestExecutionRefusesNamelessConnections(t *testing.T) {
	x := New(Limits{}).Cursor(Connection)
	for _, in := range []Input{
		{Kind: Connect, Addr: "a:1"}, {Kind: Send, Data: []byte("a")}, {Kind: Close, Name: "one"},
		{Kind: Connect, Conn: 1, Addr: "a:1", Name: "one"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is taken", in)
				}
			}()
			x.Lookup(in)
		}()
	}
}

// join is one reaction after the other.
func join(list ...Reaction) Reaction {
	var j model.Joined
	for _, r := range list {
		j.Add(r)
	}
	return j.Reaction
}
