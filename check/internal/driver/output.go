package driver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/internal/textutil"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// Written is what a peer wrote to its standard output and error.
type Written struct {
	Peer string
	Text string
}

// outputLog keeps what the peers wrote in reaction to an input, by its place in the cache; what
// they wrote as they started is at the place where they start. So it is known of every branch,
// whether or not the peers were there last.
type outputLog struct {
	// An entry without any text means that nothing was written there.
	at    map[iocache.NodeID][]Written
	bytes int
}

// maxOutputs bounds what is kept of the outputs of all peers, in bytes; what comes after is not.
const maxOutputs = 16 << 20

// recordOutput takes what the peers have written since it was last called, as that of a place.
// Inputs that are given again have had the same answers, and what was written then is kept. The
// texts come in the order of the peers.
func (d *Driver) recordOutput(g *groupState, at iocache.NodeID) {
	var list []Written
	for i, text := range g.group.Written() {
		if text != "" {
			list = append(list, Written{d.spec.Peers[i].Name, text})
		}
	}
	d.outputs.keep(at, list)
}

// keep keeps what was written at a place for the first time. Beyond the bound the place has no
// entry, which heard reports as incomplete.
func (l *outputLog) keep(at iocache.NodeID, list []Written) {
	size := 0
	for _, w := range list {
		size += len(w.Text)
	}
	if _, known := l.at[at]; known || l.bytes+size > maxOutputs {
		return
	}
	if l.at == nil {
		l.at = map[iocache.NodeID][]Written{}
	}
	l.at[at] = list
	l.bytes += size
}

// heard is what the peers wrote on the way from one place to another, from nil: since they were
// started. It is not complete where a part of it was not kept, or answered by others. The caller
// holds mu.
func (d *Driver) heard(from, to iocache.Position) (list []Written, complete bool) {
	var places []iocache.NodeID
	if from == nil {
		from = iocache.Position{iocache.Root}
		// With one behaviour the peers start at the root, and with several at the node of the
		// choice.
		if d.Behaviours() <= 1 {
			places = append(places, iocache.Root)
		}
	}
	places = append(places, d.cache.Places(from, to)...)
	complete = true
	for _, at := range places {
		texts, known := d.outputs.at[at]
		list, complete = append(list, texts...), complete && known
	}
	return list, complete
}

// withCrashOutput adds to an error that says who died what that one wrote on this branch. An error
// of another kind is returned as it is. Without any output the message says so.
func (d *Driver) withCrashOutput(g *groupState, err error) error {
	var died *watch.Died
	if !errors.As(err, &died) && !errors.Is(err, proxy.ErrDied) || g.group == nil || g.at == nil {
		return err
	}
	list, _ := d.heard(nil, g.at)
	// What was written after the last input is not in the log yet.
	fresh := g.group.Written()
	var text strings.Builder
	for i, peer := range d.spec.Peers {
		// Of a dead proxy nobody knows which peer was to blame, so all are shown.
		if died != nil && died.Peer != peer.Name {
			continue
		}
		var all strings.Builder
		for _, w := range list {
			if w.Peer == peer.Name {
				all.WriteString(w.Text)
			}
		}
		if wrote := strings.TrimSpace(all.String() + fresh[i]); wrote != "" {
			fmt.Fprintf(&text, "\n%s wrote:\n%s", peer.Name, endOf(wrote, maxCrashOutput))
		}
	}
	if text.Len() == 0 {
		text.WriteString("\nit wrote nothing")
	}
	return fmt.Errorf("%w%s", err, text.String())
}

// withInputs adds to an error that says who died what the group was given on this branch, the input
// that it died of in the end. last is the input that was being given. At most maxLastInputs are
// shown, the latest ones.
func (d *Driver) withInputs(g *groupState, err error, last model.Input) error {
	var died *watch.Died
	if !errors.As(err, &died) || g.at == nil {
		return err
	}
	steps, lost := d.cache.Missing(iocache.Position{iocache.Root}, g.at)
	if lost != nil {
		return errors.Join(err, lost)
	}
	var text strings.Builder
	if cut := len(steps) + 1 - maxLastInputs; cut > 0 {
		steps = steps[cut:]
		fmt.Fprintf(&text, "\n  ... (%s before)", textutil.CountOf(cut, "input"))
	}
	for _, s := range steps {
		fmt.Fprintf(&text, "\n  %v", s.Input)
	}
	return fmt.Errorf("%w\nthe peers had been given, connections by number:%s\n  %v, of which it died",
		err, text.String(), last)
}

// maxLastInputs is how many of the inputs of a group an error shows.
const maxLastInputs = 40

// maxCrashOutput bounds what an error shows of the output of a peer, in bytes.
const maxCrashOutput = 4 << 10

// endOf cuts a text to whole lines at its end. The first line is dropped, since it may be cut in
// its middle. most is in bytes.
func endOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = rest
	}
	return "...\n" + text
}
