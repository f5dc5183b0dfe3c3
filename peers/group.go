package peers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/peers/image"
	"github.com/tandem-mc/tandem/proxy"
)

// Group is what is checkpointed together: peers, their files and the network between
// them. Its file tree is that of the machine, read-only, with a scratch directory and
// an own /run, both part of every checkpoint.
type Group struct {
	Peers []Peer
	// Prepare is made, or copied from where it was made before, ahead of Files.
	Prepare []Preparation
	Files   []File
	// Binds puts the directory or file that is the value over the path that is the key,
	// inside the group only. A directory below Scratch is created where it is missing.
	Binds map[string]string
	// Start is when clocks of the peers start that are not the machine's; zero: DefaultStart.
	Start time.Time `json:",omitzero"`
	// ReadyTimeout bounds the time from the start until all peers are ready;
	// 0 means DefaultReadyTimeout.
	ReadyTimeout time.Duration
	// Prepared has the directories of the machine that preparations have made, by their Path. It is
	// filled in by whoever starts the group.
	Prepared map[string]string
	// Trees has what was extracted of the images of peers, by their digests. It is filled in like
	// Prepared.
	Trees map[string]image.Tree `json:",omitempty"`
	// AnyArrival makes the order in which clients connect a part of the group's behaviour, and
	// Arrival is the one that it starts with, from 0 on: see Arrivals.
	AnyArrival bool
	Arrival    int
}

// DefaultStart is when clocks that are not the machine's start by default, in seconds of Unix time:
// 2026-01-01 00:00:00 UTC.
const DefaultStart = 1_767_225_600

// ClockStart is when the clocks start of peers that do not have the machine's: those with
// choices, and those with a virtual clock.
func (g Group) ClockStart() time.Time {
	if g.Start.IsZero() {
		return time.Unix(DefaultStart, 0).UTC()
	}
	return g.Start
}

// FilesChanged is the time at which the files of all peers were last changed. Servers tell it to
// their clients, so it is the same on every day. It is never after ClockStart.
func (g Group) FilesChanged() time.Time {
	const year = 2025
	if start := g.ClockStart(); start.Year() < year {
		return start
	}
	return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// Behaviours is the number of behaviours of the group that can be chosen: one of each peer, and
// with AnyArrival an order of the clients. It is at least 1. It is exact up to MaxChoices, and some
// greater number beyond.
func (g Group) Behaviours() int {
	n := g.orders()
	for _, p := range g.Peers {
		// A peer without choices behaves in one way.
		if n *= max(p.Choices, 1); n > MaxChoices {
			return n // and more
		}
	}
	return n
}

// Chosen reports whether the behaviour of a peer, or its clock, is chosen.
func (g Group) Chosen() bool {
	return slices.ContainsFunc(g.Peers, Peer.IsChosen)
}

// Behaving returns the group with behaviour n, counted from 0. From one to the next the behaviour
// of the first peer changes fastest, and the order of the clients slowest. So n is a number whose
// digits have as many values as each peer has choices. The group itself is not changed.
func (g Group) Behaving(n int) Group {
	g.Peers = slices.Clone(g.Peers)
	for i := range g.Peers {
		k := max(g.Peers[i].Choices, 1)
		g.Peers[i].Behaviour = n % k
		n /= k
	}
	g.Arrival = n
	return g
}

// Clients is how many of the peers are started when the system under test listens.
func (g Group) Clients() int {
	n := 0
	for _, p := range g.Peers {
		if p.IsClient() {
			n++
		}
	}
	return n
}

// orders is the number of orders in which the clients may connect, if any may be; it stops where
// it is more than MaxChoices.
func (g Group) orders() int {
	n := 1
	for k := 2; g.AnyArrival && k <= g.Clients() && n <= MaxChoices; k++ {
		n *= k
	}
	return n
}

// Arrivals are the clients, by index, in the order in which those that wait for the same port are
// started: Arrival is its number among all orders, 0 that of Peers. The number is read in the
// factorial number system: its first digit, of as many values as there are clients, says which of
// them is the first, and so on.
func (g Group) Arrivals() []int {
	var waiting, order []int
	for i, p := range g.Peers {
		if p.IsClient() {
			waiting = append(waiting, i)
		}
	}
	for n := g.Arrival; len(waiting) > 0; {
		k := n % len(waiting)
		n /= len(waiting)
		order, waiting = append(order, waiting[k]), slices.Delete(waiting, k, k+1)
	}
	return order
}

// Merge returns a group with the peers, files and binds of both. If both have a file or a bind at
// the same path, that of more holds. Neither of the two is changed. The greater of the two
// time-outs holds.
func (g Group) Merge(more Group) Group {
	replaced := map[string]bool{}
	for _, f := range more.Files {
		replaced[f.place()] = true
	}
	// The same file may be written in two ways: place tells.
	files := slices.DeleteFunc(slices.Clone(g.Files), func(f File) bool { return replaced[f.place()] })
	out := Group{
		Peers:        slices.Concat(g.Peers, more.Peers),
		Prepare:      slices.Concat(g.Prepare, more.Prepare),
		Files:        append(files, more.Files...),
		Binds:        map[string]string{},
		ReadyTimeout: max(g.ReadyTimeout, more.ReadyTimeout),
		AnyArrival:   g.AnyArrival || more.AnyArrival,
	}
	maps.Copy(out.Binds, g.Binds)
	maps.Copy(out.Binds, more.Binds)
	return out
}

// In returns the group with Scratch replaced by a directory, and defaults filled in. Texts of
// commands, variables, files and binds are replaced; contents with a zero byte are not.
func (g Group) In(scratch string) Group {
	replacer := strings.NewReplacer(Scratch, scratch, SUT, addressOfSUT)
	replace := replacer.Replace
	out := Group{Binds: map[string]string{}, Start: g.Start, ReadyTimeout: g.ReadyTimeout, Trees: g.Trees}
	if out.ReadyTimeout == 0 {
		out.ReadyTimeout = DefaultReadyTimeout
	}
	for _, p := range g.Peers {
		q := p
		q.Command, q.Env = nil, slices.Clone(defaultEnvironment)
		q.Directory = replace(cmp.Or(p.Directory, Scratch))
		for _, s := range p.Command {
			q.Command = append(q.Command, replace(s))
		}
		if who, err := p.Identity(); err == nil && !who.IsRoot() {
			q.Env = setVariable(q.Env, "HOME="+who.Home)
		}
		for _, s := range p.Env {
			q.Env = setVariable(q.Env, replace(s))
		}
		out.Peers = append(out.Peers, q)
	}
	for _, f := range g.Files {
		if f.Mode == 0 {
			f.Mode = 0o644
			if f.IsDirectory() {
				f.Mode = 0o755
			}
		}
		content := f.Content
		if bytes.IndexByte(content, 0) < 0 { // a program that has the word in it would be damaged
			content = []byte(replace(string(content)))
		}
		out.Files = append(out.Files, File{Path: replace(f.Path), Content: content, Mode: f.Mode})
	}
	for target, source := range g.Binds {
		out.Binds[target] = replace(source)
	}
	out.Prepared = map[string]string{}
	for below, directory := range g.Prepared {
		out.Prepared[replace(below)] = directory
	}
	return out
}

// defaultEnvironment is fixed: what a peer answers must not depend on who runs the checker.
var defaultEnvironment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root",
	"LANG=C.UTF-8",
	"GODEBUG=multipathtcp=0", // Go programs listen for MPTCP, which CRIU cannot dump
}

// setVariable replaces a variable or adds it. It may change the list that it is given.
func setVariable(environment []string, entry string) []string {
	name := entry[:strings.IndexByte(entry, '=')+1]
	for i, e := range environment {
		if strings.HasPrefix(e, name) {
			environment[i] = entry
			return environment
		}
	}
	return append(environment, entry)
}

// ServesNames reports whether one of the peers listens on the port of the domain name system.
func (g Group) ServesNames() bool {
	for _, p := range g.Peers {
		all, _ := p.Addresses()
		for _, a := range all {
			if a.At.Port() == 53 {
				return true
			}
		}
	}
	return false
}

// CheckFaults returns an error if connections to the peers with these names cannot be told from
// connections to others. Those to a server are told by where it listens. Which of several clients
// has opened one is not known.
func (g Group) CheckFaults(names []string) error {
	var known []string
	clients, chosen := 0, 0
	for _, p := range g.Peers {
		known = append(known, p.Name)
		switch named := slices.Contains(names, p.Name); {
		// A peer that only connects to other peers has no connection to the program.
		case named && p.Listen == "" && !p.IsClient():
			return fmt.Errorf("no connection to the peer %s is known: it has neither listen nor after; "+
				"leave the "+
				"peer out",
				p.Name)
		case p.IsClient():
			clients++
			if named {
				chosen++
			}
		}
	}
	for _, name := range names {
		switch {
		case len(known) == 0:
			return fmt.Errorf("there is no peer %.40q, nor any other: leave peer=%.40s out", name, name)
		case !slices.Contains(known, name):
			return fmt.Errorf("there is no peer %.40q: name one of %s", name, strings.Join(known, ", "))
		}
	}
	if chosen > 0 && chosen < clients {
		return errors.New("it is not known which of several clients has opened a connection: " +
			"name all of the peers that have after, or none")
	}
	return nil
}

// FaultPlaces is where the peers of these names listen, and whether they are clients. CheckFaults
// has no objection.
func (g Group) FaultPlaces(names []string) (at []proxy.Address, clients bool) {
	for _, p := range g.Peers {
		if slices.Contains(names, p.Name) {
			all, _ := p.Addresses() // Validate has read them
			at, clients = append(at, all...), clients || p.IsClient()
		}
	}
	return at, clients
}
