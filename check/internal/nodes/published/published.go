// Package published knows what nodes publish: the names that are asked for, the events that come of
// it, and how a value is shown. Packages agreed and exclusive judge that.
package published

import (
	"fmt"
	"path"
	"slices"

	"github.com/tandem-mc/tandem/check/internal/nodes/network"
	"github.com/tandem-mc/tandem/explore/skeleton"
	"github.com/tandem-mc/tandem/internal/model"
)

// Names are names that nodes publish, or patterns of these, as package path has them.
type Names []string

// matches says whether a name is that of a pattern, or one of its names.
func matches(pattern, name string) bool {
	found, err := path.Match(pattern, name)
	return pattern == name || err == nil && found
}

// Has says whether a name is one of these.
func (n Names) Has(name string) bool {
	return slices.ContainsFunc(n, func(pattern string) bool { return matches(pattern, name) })
}

// Missing lists the patterns of which nobody has published a name, of all that were published. One
// name may be of several.
func (n Names) Missing(published []string) (list []string) {
	for _, pattern := range n {
		if !slices.ContainsFunc(published, func(name string) bool { return matches(pattern, name) }) {
			list = append(list, pattern)
		}
	}
	return list
}

// Event is that of a node which publishes something.
func Event(net *network.Nodes, in model.Input) skeleton.Event {
	d := network.Event{Kind: model.Publish, Address: in.Addr}
	d.Sent.Add(in.Data)
	net.Data[d] = slices.Clone(in.Data)
	return skeleton.Event{Label: d, To: skeleton.Nobody}
}

// AtEnd is the event of a node which ends, and so has a name no more. Its value is empty.
func AtEnd(net *network.Nodes, name string) skeleton.Event {
	d := network.Event{Kind: model.Publish, Address: name, End: true}
	d.Sent.Add(nil)
	net.Data[d] = nil
	return skeleton.Event{Label: d, To: skeleton.Nobody}
}

// Wrong is a part of an execution in which a node publishes something that violates a property.
type Wrong struct {
	Part skeleton.Global
	Node int    // that publishes it
	What string // is wrong with it, in words
	Key  string // the same for those that one is enough of
}

// Object has an event that publishes a value be wrong, because of another one. If that is of
// another node, the event takes it: so it comes after it.
func Object(net *network.Nodes, event, because *skeleton.Event, what string) {
	d := network.Did(event)
	value := net.Data[d]
	d.Violates = what
	event.Label, net.Data[d] = d, value
	if event.Component != because.Component {
		event.From, event.Got = because.Name, because.Label
	}
}

// Follow has an event be wrong if it is so in a script, which has the same value at its place.
func Follow(net *network.Nodes, script, event *skeleton.Event) {
	d := network.Did(script)
	wrong := d.Violates
	if d.Violates = ""; d == network.Did(event) {
		d.Violates = wrong
		net.Data[d] = net.Data[network.Did(event)]
		event.Label, event.From, event.Got = d, script.From, script.Got
	}
}

// Shown is a value, quoted and not too long.
func Shown(value []byte) string {
	const most = 60
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q... (%d bytes)", value[:most], len(value))
}

// In are the names that were published, sorted, of data as network.Nodes has them.
func In(data map[network.Event][]byte) (list []string) {
	for d := range data {
		if d.Kind == model.Publish && !slices.Contains(list, d.Address) {
			list = append(list, d.Address)
		}
	}
	slices.Sort(list)
	return list
}
