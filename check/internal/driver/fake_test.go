package driver

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/shim"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// fakeWorld starts fake groups, keeps their images, and notes what is done to them.
type fakeWorld struct {
	log    []string
	images map[string]fakeState
	last   int  // image
	room   int  // for images; 0: for any number
	full   bool // no image can be stored
	tries  int  // that peers notice which are not part of their state: how often they were asked to flip
	deaths int  // that are still to come: see "perish"
	hang   func()
	// How often a timer ends too early from now on, an input at a time.
	disturbed int
}

func (w *fakeWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *fakeWorld) start(_ context.Context, spec peers.Group) (Group, error) {
	w.note("start")
	g := &fakeGroup{world: w, spec: spec, ends: map[proxy.ID]*fakeEnd{}}
	g.fakeState = fakeState{sockets: map[proxy.ID]fakeSocket{}}
	return g, nil
}

// fakeGroup is a group of peers in memory: a server, and clients that connect and send their name.
// Its sockets are pairs, of which it has one end.
type fakeGroup struct {
	fakeState
	world   *fakeWorld
	spec    peers.Group
	ends    map[proxy.ID]*fakeEnd
	reads   []shim.Read
	written string
	died    error
	late    bool
}

// fakeState is what a checkpoint holds.
type fakeState struct {
	lines   int // that the server has got
	ended   []watch.Ending
	clock   time.Duration
	timers  []fakeTimer
	sockets map[proxy.ID]fakeSocket
	pending []int // clients that have connected, and were not accepted
}

type fakeSocket struct {
	listener bool
	client   string // empty: it leads to the server
	buffer   string // the beginning of a line
	closed   bool   // by the peer
}

type fakeTimer struct {
	due time.Duration
	id  proxy.ID
}

// fakeEnd are the two ends of a connection.
type fakeEnd struct{ ours, theirs int }

func (s fakeState) clone() fakeState {
	s.ended, s.timers, s.pending = slices.Clone(s.ended), slices.Clone(s.timers), slices.Clone(s.pending)
	s.sockets = maps.Clone(s.sockets)
	return s
}

func (g *fakeGroup) Sockets() Sockets { return (*fakeSockets)(g) }

// fakeSockets are the commands of the fake's proxy.
type fakeSockets fakeGroup

func (s *fakeSockets) pair(id proxy.ID) (int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	s.ends[id] = &fakeEnd{fds[0], fds[1]}
	return fds[0], err
}

func (s *fakeSockets) CreateSocket(_ context.Context, id proxy.ID) (int, error) {
	fd, err := s.pair(id)
	if s.sockets[id].closed {
		unix.Close(s.ends[id].theirs)
	}
	return fd, err
}

func (s *fakeSockets) CreateSocketFor(_ context.Context, id proxy.ID, _ proxy.Address) (int, error) {
	s.sockets[id] = fakeSocket{}
	return s.pair(id)
}

func (s *fakeSockets) BindTo(_ context.Context, id proxy.ID, at proxy.Address) error {
	s.world.note("listen %d %v", id, at)
	s.sockets[id] = fakeSocket{listener: true}
	return nil
}

func (s *fakeSockets) ConnectTo(_ context.Context, id proxy.ID, to proxy.Address) error {
	s.world.note("connect %d", id)
	if to.At.Port() == 1 {
		return &proxy.SocketError{Command: "connect", ID: id, Address: to, Errno: unix.ECONNREFUSED}
	}
	return nil
}

func (s *fakeSockets) Accept(_ context.Context, id, newID proxy.ID) (int, error) {
	if _, err := unix.Read(s.ends[id].ours, make([]byte, 1)); err != nil { // it was readable
		return -1, err
	}
	name := s.spec.Peers[s.pending[0]].Name
	s.pending = s.pending[1:]
	s.sockets[newID] = fakeSocket{client: name}
	fd, err := s.pair(newID)
	if err == nil {
		_, err = unix.Write(s.ends[newID].theirs, []byte(name+"\n"))
	}
	return fd, err
}

func (s *fakeSockets) Close(_ context.Context, id proxy.ID) error {
	s.world.note("close %d", id)
	if end := s.ends[id]; end != nil && !s.sockets[id].closed {
		unix.Close(end.theirs)
	}
	if client := s.sockets[id].client; client != "" {
		i := slices.IndexFunc(s.spec.Peers, func(p peers.Peer) bool { return p.Name == client })
		s.fakeState.ended = append(s.fakeState.ended, watch.Ending{Peer: i})
	}
	delete(s.ends, id)
	delete(s.sockets, id)
	return nil
}

func (g *fakeGroup) StartClient(_ context.Context, peer int) error {
	g.world.note("start client %s", g.spec.Peers[peer].Name)
	for _, id := range slices.Sorted(maps.Keys(g.sockets)) {
		if g.sockets[id].listener {
			g.pending = append(g.pending, peer)
			_, err := unix.Write(g.ends[id].theirs, []byte{0})
			return err
		}
	}
	return nil
}

func (g *fakeGroup) Quiesce(ctx context.Context, drain func() (bool, error)) error {
	for {
		g.serve()
		if g.world.hang != nil {
			g.world.hang()
			return ctx.Err()
		}
		if g.died != nil {
			return g.died
		}
		if progress, err := drain(); err != nil || !progress {
			return err
		}
	}
}

// serve reads what has come, and does what the lines say.
func (g *fakeGroup) serve() {
	for _, id := range slices.Sorted(maps.Keys(g.ends)) {
		buffer := make([]byte, 1<<16)
		s := g.sockets[id]
		if s.listener || s.closed {
			continue
		}
		n, err := unix.Read(g.ends[id].theirs, buffer)
		if n == 0 && err == nil {
			g.world.note("end of %d", id)
			g.finish(id)
			continue
		}
		s.buffer += string(buffer[:max(n, 0)])
		for {
			line, rest, whole := strings.Cut(s.buffer, "\n")
			if !whole {
				break
			}
			s.buffer = rest
			g.sockets[id] = s
			g.do(id, line)
			s = g.sockets[id]
		}
		g.sockets[id] = s
	}
}

// finish ends the stream of the peer.
func (g *fakeGroup) finish(id proxy.ID) {
	s := g.sockets[id]
	s.closed = true
	g.sockets[id] = s
	unix.Close(g.ends[id].theirs)
}

// do does what a line says.
func (g *fakeGroup) do(id proxy.ID, line string) {
	g.lines++
	g.world.note("line %d %q", id, line)
	word, rest, _ := strings.Cut(line, " ")
	say := func(text string) { unix.Write(g.ends[id].theirs, []byte(text+"\n")) }
	switch word {
	case "count":
		say(fmt.Sprint(g.lines))
	case "say":
		say(rest)
	case "flip":
		g.world.tries++
		say(fmt.Sprintf("flip %d", g.world.tries))
	case "time":
		g.reads = append(g.reads, shim.Read{Peer: "server", Source: "time", Calls: 1})
		say("now")
	case "print":
		g.written += rest + "\n"
	case "bye":
		g.finish(id)
	case "die":
		g.died = &watch.Died{Peer: "server", PID: 7, Status: 11}
	case "perish": // it is killed from outside
		if g.world.deaths > 0 {
			g.world.deaths--
			g.died = &watch.Died{Peer: "server", PID: 7, Status: 9}
			return
		}
		say("still here")
	case "timer":
		d, _ := time.ParseDuration(rest)
		g.timers = append(g.timers, fakeTimer{g.clock + d, id})
	case "tardy": // a timer, which from the second time on ends before anybody looks: so many times
		early, _ := strconv.Atoi(rest)
		if g.world.tries++; g.world.tries > 1 && g.world.tries <= 1+early {
			say("tick")
			return
		}
		g.timers = append(g.timers, fakeTimer{g.clock + time.Second, id})
	case "behave":
		say(fmt.Sprint("way ", g.spec.Peers[0].Behaviour))
	case "other": // what no assumption of connection scope foresees
		for _, to := range slices.Sorted(maps.Keys(g.ends)) {
			if to != id {
				unix.Write(g.ends[to].theirs, []byte("news\n"))
			}
		}
	}
}

func (g *fakeGroup) Pass(_ context.Context, how ckptd.Wait) (p ckptd.Passed, err error) {
	g.world.note("pass at most %v", how.Most)
	if len(g.timers) == 0 || how.Most > 0 && g.timers[0].due > g.clock+how.Most {
		p.Time, p.Idle = how.Most, true
		if len(g.timers) > 0 {
			p.Due = g.timers[0].due - g.clock - how.Most
		}
		g.clock += how.Most
		return p, nil
	}
	timer := g.timers[0]
	g.timers = g.timers[1:]
	p.Time, g.clock = timer.due-g.clock, timer.due
	_, err = unix.Write(g.ends[timer.id].theirs, []byte("tick\n"))
	return p, err
}

func (g *fakeGroup) Late() bool {
	late := g.late
	g.late = false
	if late {
		for id := range g.ends {
			unix.Write(g.ends[id].theirs, []byte("late\n"))
		}
	}
	return late
}

func (g *fakeGroup) TakeDisturbed() bool {
	if g.world.disturbed == 0 {
		return false
	}
	g.world.disturbed--
	return true
}

func (g *fakeGroup) ResetEffort() watch.Effort { return watch.Effort{Waits: 1} }

func (g *fakeGroup) Reads() (r ckptd.Reads, err error) {
	r.Counted, g.reads = g.reads, nil
	return r, nil
}

func (g *fakeGroup) Written() []string {
	text := make([]string, len(g.spec.Peers))
	text[0], g.written = g.written, ""
	return text
}

func (g *fakeGroup) Ended() ([]watch.Ending, error) { return g.fakeState.ended, nil }

func (g *fakeGroup) Check() error { return g.died }

func (g *fakeGroup) Checkpoint(context.Context) (ckptd.Image, error) {
	w := g.world
	if w.full {
		return ckptd.Image{}, fmt.Errorf("%w: all of 1 MiB is taken", ckptd.ErrNoRoom)
	}
	w.last++
	image := ckptd.Image{ID: fmt.Sprint("image ", w.last), Bytes: 100, Backend: ckptd.BackendMemory}
	w.images[image.ID] = g.clone()
	w.note("checkpoint: %s", image.ID)
	for oldest := 1; w.room > 0 && len(w.images) > w.room; oldest++ {
		id := fmt.Sprint("image ", oldest)
		if _, there := w.images[id]; there {
			delete(w.images, id)
			image.Dropped = append(image.Dropped, id)
			w.note("dropped: %s", id)
		}
	}
	return image, nil
}

func (g *fakeGroup) Restore(_ context.Context, image string) error {
	state, ok := g.world.images[image]
	if !ok {
		g.world.note("%s is gone", image)
		return fmt.Errorf("%w: %s", ckptd.ErrImageGone, image)
	}
	g.world.note("restore %s", image)
	g.closeAll()
	g.fakeState, g.died, g.written = state.clone(), nil, ""
	return nil
}

func (g *fakeGroup) closeAll() {
	for id, end := range g.ends {
		if !g.sockets[id].closed {
			unix.Close(end.theirs)
		}
	}
	clear(g.ends)
}

func (g *fakeGroup) Close() error {
	g.world.note("stop")
	g.closeAll()
	return nil
}

// serverAt is the address of the fake server.
var serverAt = netip.MustParseAddrPort("127.0.0.1:7000").String()
