package nodes

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandem-mc/tandem/check/internal/nodes/beside"
	"github.com/tandem-mc/tandem/check/internal/nodes/datagram"
	"github.com/tandem-mc/tandem/check/internal/nodes/environment"
	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/check/internal/nodes/pace"
	"github.com/tandem-mc/tandem/check/internal/nodes/pick"
	"github.com/tandem-mc/tandem/check/internal/nodes/properties"
	"github.com/tandem-mc/tandem/check/internal/nodes/slow"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// walk is an execution of all nodes at the same time. Everything is chosen at random: goroutines of
// nodes, which node goes on, when the network is parted or slow, and when nodes crash.
// Its events are in the order in which they happen, and its rules are those of explorations.
//
// One node runs at a time. It may have to let others go on before each of its inputs, and after it.
// So the same seed gives the same walk.
type walk struct {
	net     *network.Nodes
	members []*member
	peers   *beside.Component // nil: there are none
	random  *rand.Rand
	turn    *member // whose turn it is; nil: all are gone
	// stays is how likely a node goes on that could also let another one.
	stays float64
	now   time.Duration
	ticks int
	// events is how many there were. cuts are partitions to come. cut is the one that was last, and
	// parted when it began; nil: there was none.
	events int
	cuts   []*pick.Cut
	cut    *network.Partition
	parted time.Duration
	// resumed is when a node that was paused has gone on last: after so many advances of the clock;
	// -1: none has. No partition begins then: what an earlier one held comes to that node at this
	// time, and whoever runs the walk again could not tell whether the new one holds it, too.
	resumed int
	slow    *slow.Spells
	air     *datagram.Air
	// rests: nobody can go on any more, so each node is told to end. over is why the walk ends
	// before that; empty: it does not.
	rests bool
	over  string
	isCut bool  // over says that it was cut off, which is to be told
	err   error // of the peers
}

// member is a node in a walk. It implements sut.Peers.
type member struct {
	environment.Walked
	walk *walk
	// goOn has it run until it lets others go on, which yield does.
	goOn  func() (struct{}, bool)
	yield func(struct{}) bool
	gone  bool
	// waits: it can do nothing but wait, for its timer that is due, if it has one. news: something
	// may have come since it found out. once: it lets others go on that do something at this time.
	waits, news, once bool
	due               time.Duration
	// tick is an advance of the clock in which it is still to take part.
	tick *network.Event
	// crashes are still to come. It is down after one of them, until the clock has advanced so
	// often. All that it had open is closed then, and what others send to that is lost.
	crashes []pick.Crash
	down    bool
	until   int
	pausing
	disks int                // inputs that are about its disk
	told  int                // events of it that others know of
	inbox []skeleton.Arrival // what was sent to it since it looked
	// aborted are closes of others that are a reset, since something was there that was not read.
	aborted map[skeleton.Name]bool
	timing  pace.Timing
	stopped bool // it was told to end
}

// newWalk is a walk of the nodes, which has to have some properties.
func newWalk(net *network.Nodes, wanted *properties.Wanted, random *rand.Rand) *walk {
	said := wanted.Said()
	w := &walk{net: net, random: random, slow: slow.New(nil), resumed: -1,
		stays: []float64{0, 0.5, 0.9}[random.IntN(3)]}
	air := &datagram.Air{Net: net, Weather: datagram.NewWeather(nil)}
	air.IsUp = func(node int) bool { return !w.members[node].gone && !w.members[node].down }
	air.IsParted = func(from, to int) bool { return net.Parting(from, to, w.ticks) != nil }
	w.air = air
	for c := range net.Programs() {
		n := environment.NewWalked(net, c)
		n.Said = said
		m := &member{Walked: n, walk: w, aborted: map[skeleton.Name]bool{}, timing: pace.Timing{}}
		n.Pace = m
		n.Datagrams.Carrier = air.From(c)
		air.Sockets = append(air.Sockets, &n.Datagrams)
		w.members = append(w.members, m)
	}
	return w
}

// run runs all nodes at the same time, of which one has its turn. It returns when all of them have
// ended. Each is run by a function that returns when the execution has ended, with why the
// walk is to end because of that.
//
// These are coroutines: to let another one go on takes no time. To wake its goroutine would take
// longer than most inputs do.
func (w *walk) run(play func(m *member) (over string)) {
	for _, m := range w.members {
		m.goOn, _ = iter.Pull(func(yield func(struct{}) bool) {
			m.yield = yield
			over := play(m)
			m.gone = true
			w.tell(m)
			w.over = cmp.Or(w.over, over)
			w.turn = w.next(nil)
		})
	}
	for w.turn = w.next(nil); w.turn != nil; {
		w.turn.goOn()
	}
}

// pass lets others go on, if they are chosen to, until it is the turn of this one again.
func (w *walk) pass(m *member) {
	if w.turn = w.next(m); w.turn != m {
		m.yield(struct{}{})
	}
}

// next chooses who goes on; nil: all are gone. If nobody can, the clock advances, or the walk ends.
func (w *walk) next(now *member) *member {
	if len(w.cuts) > 0 && w.events >= w.cuts[0].Events && (w.cut == nil || w.ticks > w.cut.Until) &&
		w.ticks > w.resumed {
		w.part(w.cuts[0])
	}
	w.slow.Begin(w.events, w.ticks, w.random, w.open)
	if w.peers != nil && w.peers.IsDue() && w.random.IntN(2) == 0 {
		w.hear(w.peers.Fires())
	}
	// A timer that is late waits until nobody else does anything at its time.
	for _, can := range []func(*member) bool{
		func(m *member) bool {
			if m.down || m.paused {
				return w.over != "" || w.ticks >= m.until
			}
			return w.over != "" || w.rests || !m.waits || m.news
		},
		func(m *member) bool { return m.once },
	} {
		var list []*member
		for _, m := range w.members {
			if !m.gone && can(m) {
				list = append(list, m)
			}
		}
		switch {
		case len(list) == 0:
		case now != nil && slices.Contains(list, now) && w.random.Float64() < w.stays:
			return now
		default:
			return list[w.random.IntN(len(list))]
		}
	}
	if !slices.ContainsFunc(w.members, func(m *member) bool { return !m.gone }) {
		return nil
	}
	w.advance()
	return w.next(now)
}

// open are the directions of all connections that are open at the node which sends.
func (w *walk) open() (list []slow.Direction) {
	for _, m := range w.members {
		if !m.gone {
			list = append(list, m.Open()...)
		}
	}
	return list
}

// part has nothing get through between some nodes from now on. What was sent before may still come.
// Connects that are made now wait.
func (w *walk) part(cut *pick.Cut) {
	w.net.Parted = w.net.Parted.With(network.Partition{Links: cut.Links, From: w.ticks,
		Until: w.ticks + cut.Length})
	all := w.net.Parted.All()
	w.cut, w.parted, w.cuts = all[len(all)-1], w.now, w.cuts[1:]
	for _, m := range w.members {
		// Those that were made in this epoch are not counted: no partition was known then.
		m.Hold.Connects[w.ticks] = 0
		m.losesEnds()
	}
}

// advance has the clock advance to the first timer that is due. If there is none, the walk rests.
func (w *walk) advance() {
	first := time.Duration(0)
	for _, m := range w.members {
		if !m.gone && !m.paused && m.due > 0 && (first == 0 || m.due < first) {
			first = m.due
		}
	}
	if w.peers != nil && w.peersAct(first) {
		return
	}
	isDown := func(m *member) bool { return m.down || m.paused }
	switch i := slices.IndexFunc(w.members, isDown); {
	case first == 0 && w.slow.Release(w.ticks): // all wait for what is slow
		for _, m := range w.members {
			m.news = true
		}
		return
	case first == 0 && i >= 0:
		w.members[i].until = w.ticks // all others wait for it
		return
	case first == 0:
		w.rests = true
		return
	}
	w.advanceTo(first, false)
}

// Exchange implements sut.Peers.
func (m *member) Exchange(in model.Input) (a model.Answer, err error) {
	if m.waits = in.Kind == model.Pass; m.waits {
		m.once = in.Most == model.Once
		m.news = !m.once || len(m.inbox) > 0
		if m.due = 0; in.Most > model.Once {
			m.due = m.Now + in.Most
		}
	}
	m.walk.pass(m)
	if m.walk.over != "" {
		m.stopped = true
		return model.Answer{Failure: m.walk.over}, nil
	}
	m.look()
	if a.Crash = m.crashesNow(in); a.Crash != nil {
		return a, nil
	}
	in, a = m.Begin(in)
	defer m.Number(&a)
	if m.waits {
		a.Clients = 1
		m.Waits()
		m.wait(in.Most, &a)
		m.waits, m.once, m.due = false, false, 0
		m.note(1)
		m.walk.tell(m)
		return a, err
	}
	if m.walk.peers != nil {
		m.walk.hear(m.walk.peers.Connects(in))
		m.look()
	}
	if a, err = m.Answer(in); err == nil && a.Failure == "" {
		m.reacts(&a)
	}
	return a, err
}

// crashesNow says how the node crashes before an input; nil: it does not.
func (m *member) crashesNow(in model.Input) *model.Crash {
	if in.Kind == model.Disk {
		m.disks++
	}
	i := pick.Due(m.crashes, m.Input+1, m.disks, in.Kind == model.Disk)
	if i < 0 {
		return nil
	}
	m.until = m.walk.ticks + m.crashes[i].Down
	m.crashes = slices.Delete(m.crashes, i, i+1)
	// The process alone has ended, or the machine has: then some of what was not synced is lost.
	lost := 0
	if in.Unsynced > 0 && m.walk.random.IntN(3) > 0 {
		lost = 1 + m.walk.random.IntN(in.Unsynced)
	}
	m.Crash(lost)
	m.timing[m.Made[len(m.Made)-1].Name] = m.Moment()
	return &model.Crash{Lost: lost}
}

// comesBack has the node be down. Others find its connections closed, and their connects refused.
// It waits until the node runs again after a crash, and says whether it does.
func (m *member) comesBack() bool {
	m.look()
	m.walk.tell(m)
	m.down, m.waits, m.once, m.news, m.due = true, false, false, false, 0
	m.walk.pass(m)
	m.down = false
	if m.stopped = m.walk.over != ""; m.stopped {
		return false
	}
	m.Restart()
	m.walk.tell(m)
	return true
}

// reacts has come what others do because of an input, if they are chosen to, before the node goes
// on. Its next input may be a write, which a reset has to come before.
func (m *member) reacts(a *model.Answer) {
	m.note(1)
	m.walk.tell(m)
	if m.walk.pass(m); m.walk.over != "" {
		m.stopped, a.Failure = true, m.walk.over
		return
	}
	m.look()
	m.Deliver(&a.Reaction)
	m.breakSome(&a.Reaction, false)
	m.note(0)
	m.walk.tell(m)
}

// wait answers for a node that can do nothing but wait, for a timer that is due after some time or,
// with 0, for others (package environment).
func (m *member) wait(most time.Duration, a *model.Answer) {
	if m.Fires(most, a) {
		return
	}
	for {
		m.Deliver(&a.Reaction)
		m.breakSome(&a.Reaction, true)
		a.Again = m.once || a.Shows()
		switch {
		case a.Again:
			return
		case m.tick != nil:
			m.note(1)
			tick := *m.tick
			m.tick = nil
			m.TakesPart(tick, most, a)
			return
		case m.isPaused():
			if m.pause(most, a) {
				return
			}
			continue
		case m.walk.rests:
			m.Rests(most, a)
			return
		}
		m.news = false
		if m.walk.pass(m); m.walk.over != "" {
			m.stopped, a.Failure = true, m.walk.over
			return
		}
		m.look()
	}
}

// look takes over what was sent since it looked. What is sent after an advance of the clock comes
// after that, which may still be an event to come.
func (m *member) look() {
	m.TakeOver(m.inbox, m.tick != nil, m.walk.cut == nil || m.walk.ticks > m.walk.cut.From)
	m.inbox = nil
}

// misses has all datagrams be lost that have come to a node that is down: they take no time. Such a
// one never comes, also in a replay.
func (m *member) misses() {
	m.look()
	for i := range m.Arrivals {
		sent := &m.Arrivals[i].Send
		m.Done[i] = m.Done[i] || network.IsDatagram(sent) && m.Comes(i, sent.Name, m.Moment())
	}
}

// note notes when things have come: at the present moment, or one before it.
func (m *member) note(before int) {
	for i := range m.Arrivals {
		// A close that aborts does not come: the reset does.
		if name := m.Arrivals[i].Send.Name; m.Done[i] && m.timing[name] == 0 && !m.aborted[name] {
			m.timing[name] = m.Moment() - before
			m.walk.slow.Come(&m.Arrivals[i].Send)
		}
	}
	for i := m.told; i < len(m.Made); i++ {
		if e := &m.Made[i]; network.Did(e).Kind == model.Broken {
			m.timing[e.Name] = m.Moment() - before
		}
	}
}

// Comes implements pace.Pace. A close that aborts comes as a reset. Nobody sends a datagram again:
// one that has not come when the network is parted is under way behind that. What is slow is sent
// again, so it comes after the heal.
func (m *member) Comes(i int, sent skeleton.Name, _ int) bool {
	a := &m.Arrivals[i]
	return !m.aborted[sent] && !m.walk.slow.Holds(sent, m.Ticks) && (network.IsDatagram(&a.Send) ||
		m.IsLetThrough(i) && (network.Did(&a.Send).Late == 0 || !m.isParted(a)))
}

// Breaks implements pace.Pace: the member has the resets come.
func (m *member) Breaks(skeleton.Name, int) bool { return false }

// IsReset implements pace.Pace.
func (m *member) IsReset(conn string) bool {
	return slices.ContainsFunc(m.Arrivals, func(a skeleton.Arrival) bool {
		return m.aborted[a.Send.Name] && network.Did(&a.Send).Conn == conn
	})
}

// isParted says whether nothing gets through now from who has sent something.
func (m *member) isParted(a *skeleton.Arrival) bool {
	return m.walk.net.Parting(m.Node, a.Send.Component, m.Ticks) != nil
}

// losesEnds finds the connections whose end is slow and lost when the network is parted. Something
// that was not read has come to the other node by then, after it has closed the connection. So it
// has reset that, and sends nothing again. Of what was sent in this epoch, any first part has come.
func (m *member) losesEnds() {
	for i, a := range slices.Concat(m.Arrivals, m.inbox) {
		sent, closed, come := a.Send.Name, network.Did(&a.Send), 0
		if hasCome := i < len(m.Done) && m.Done[i]; hasCome || closed.Kind != model.Close ||
			closed.Late == 0 || m.walk.net.Parting(m.Node, a.Send.Component, m.walk.ticks) == nil {
			continue
		}
		ticks := 0
		for i := range m.Made {
			e := &m.Made[i]
			ticks = max(ticks, e.Tick)
			if d := network.Did(e); d.Kind != model.Send || d.Conn != closed.Conn {
				continue
			}
			isOnItsWay := ticks == m.walk.ticks && m.walk.random.IntN(2) == 0
			if isOnItsWay || m.walk.slow.Holds(e.Name, m.walk.ticks) {
				break
			}
			come += len(m.walk.net.Data[network.Did(e)])
		}
		m.aborted[sent] = m.aborted[sent] || come > closed.Taken
	}
}

// breakSome has some of the resets come that can, or all.
func (m *member) breakSome(r *model.Reaction, all bool) {
	for i := range m.Arrivals {
		a := &m.Arrivals[i]
		closed := network.Did(&a.Send)
		at, ended, can := m.CanBreak(i)
		// It comes after the close, and after what was not read.
		if !can || m.walk.slow.Holds(a.Send.Name, m.Ticks) || m.isParted(a) && closed.Late != 0 ||
			m.walk.slow.Delays(closed.Conn, a.Send.Component, m.Node, m.Ticks) {
			continue
		}
		atOnce := !ended && (closed.Unaccepted || m.aborted[a.Send.Name])
		// The end of the stream and the reset after it never come at once.
		isNew := slices.ContainsFunc(r.Deliveries, func(d model.Delivery) bool { return d.Conn == at })
		if !atOnce && !(ended && !isNew && network.Unread(m.walk.net, m.Made, a)) ||
			network.ResetWaits(m.walk.net, m.Made, a, ended) ||
			!all && m.walk.random.IntN(2) == 0 {
			continue
		}
		m.BreakOff(i, at, r)
	}
	*r = r.Normal()
}
