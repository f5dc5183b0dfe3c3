package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// written is what a peer wrote to its standard output and error.
type written struct {
	peer string
	text string
}

// outputLog keeps what the peers wrote in reaction to an input, by its place in the cache;
// what they wrote as they started is at the place where they start. So it is known of
// every branch, whether or not the peers were there last.
type outputLog struct {
	at    map[iocache.NodeID][]written
	bytes int
}

// maxOutputs bounds what is kept of the outputs of all peers, in bytes; what comes after is not.
const maxOutputs = 16 << 20

// hear takes what the peers have written since it was last called, as that of a place. Inputs
// that are given again have had the same answers, and what was written then is kept.
func (p *peerSide) hear(at iocache.NodeID) {
	var list []written
	for i, text := range p.group.Written() {
		if text != "" {
			list = append(list, written{p.spec.Peers[i].Name, text})
		}
	}
	p.outputs.keep(at, list)
}

// keep keeps what was written at a place for the first time.
func (l *outputLog) keep(at iocache.NodeID, list []written) {
	size := 0
	for _, w := range list {
		size += len(w.text)
	}
	if _, known := l.at[at]; known || l.bytes+size > maxOutputs {
		return
	}
	if l.at == nil {
		l.at = map[iocache.NodeID][]written{}
	}
	l.at[at] = list
	l.bytes += size
}

// heard is what the peers wrote on the way from one place to another, from nil: since they
// were started. It is not complete where a part of it was not kept, or answered by others.
func (p *peerSide) heard(from, to iocache.Position) (list []written, complete bool) {
	var places []iocache.NodeID
	if from == nil {
		from = iocache.Position{iocache.Root}
		if p.behaviours() <= 1 {
			places = append(places, iocache.Root)
		}
	}
	places = append(places, p.cache.Places(from, to)...)
	complete = true
	for _, at := range places {
		texts, known := p.outputs.at[at]
		list, complete = append(list, texts...), complete && known
	}
	return list, complete
}

// noteOutput adds to an exchange what the peers wrote since the last one of the execution.
func (p *conversation) noteOutput(x *exchange) {
	x.wrote, x.heard = p.peerSide.heard(p.listened, p.cursor.At())
	p.listened = slices.Clone(p.cursor.At())
}

// lastWords adds to an error that says who died what that one wrote on this branch.
func (p *peerSide) lastWords(err error) error {
	var died *watch.Died
	if !errors.As(err, &died) && !errors.Is(err, proxy.ErrDied) || p.group == nil || p.at == nil {
		return err
	}
	list, _ := p.heard(nil, p.at)
	fresh := p.group.Written()
	var text strings.Builder
	for i, peer := range p.spec.Peers {
		if died != nil && died.Peer != peer.Name {
			continue
		}
		var all strings.Builder
		for _, w := range list {
			if w.peer == peer.Name {
				all.WriteString(w.text)
			}
		}
		if wrote := strings.TrimSpace(all.String() + fresh[i]); wrote != "" {
			fmt.Fprintf(&text, "\n%s wrote:\n%s", peer.Name, endOf(wrote, maxLastWords))
		}
	}
	if text.Len() == 0 {
		text.WriteString("\nit wrote nothing")
	}
	return fmt.Errorf("%w%s", err, text.String())
}

// lastInputs adds to an error that says who died what the group was given on this branch, the input that it died of in the end.
func (p *peerSide) lastInputs(err error, last model.Input) error {
	var died *watch.Died
	if !errors.As(err, &died) || p.at == nil {
		return err
	}
	steps, lost := p.cache.Missing(iocache.Position{iocache.Root}, p.at)
	if lost != nil {
		return errors.Join(err, lost)
	}
	var text strings.Builder
	if cut := len(steps) + 1 - maxLastInputs; cut > 0 {
		steps = steps[cut:]
		fmt.Fprintf(&text, "\n  ... (%s before)", count(cut, "input"))
	}
	for _, s := range steps {
		fmt.Fprintf(&text, "\n  %v", s.Input)
	}
	return fmt.Errorf("%w\nthe peers had been given, connections by number:%s\n  %v, of which it died", err, text.String(), last)
}

// maxLastInputs is how many of the inputs of a group an error shows.
const maxLastInputs = 40

// maxLastWords bounds what an error shows of the output of a peer, in bytes.
const maxLastWords = 4 << 10

// endOf cuts a text to whole lines at its end.
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
