// Package linearizable states of a protocol that it is linearizable: each operation of a client
// seems to take effect at one moment between its call and its return. The check is that of
// Porcupine (Athalye, github.com/anishathalye/porcupine).
//
// What comes first in real time is part of that, and nodes have no common time. So let one node be
// all clients. It sees each call and each return, and what it notes in a History has their order.
// The network is not to be Ordered, since that would order what different clients send.
package linearizable

import (
	"reflect"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/tandem-mc/tandem/protocol"
)

// Object is what the protocol is to be like: an object that does one operation after the other.
type Object struct {
	Init any
	// Apply does an operation. It changes neither argument.
	Apply func(state, input any) (next, output any)
}

// History is the calls and returns of all clients, in their order. The node that is all clients
// keeps one. The zero value is empty.
type History struct {
	Events []Event
}

// Event is a call or a return of a client.
type Event struct {
	Client   int
	IsReturn bool
	Value    any // the input of a call, the output of a return
}

// Call notes that a client calls an operation. A client has one at a time.
func (h *History) Call(client int, input any) {
	h.Events = append(h.Events, Event{Client: client, Value: input})
}

// Return notes that the operation of a client has ended.
func (h *History) Return(client int, output any) {
	h.Events = append(h.Events, Event{Client: client, IsReturn: true, Value: output})
}

// pending is the output of an operation that has not ended: it may be anything.
type pending struct{}

// Holds says whether a history is linearizable. An operation that has not ended may have taken
// effect or not. A client that calls before the last call has returned, or returns without one, is
// an error of the node; such a history is not linearizable.
func (o Object) Holds(h History) bool {
	var events []porcupine.Event
	operations := 0
	open := map[int]int{} // by client: the number of its operation
	for _, e := range h.Events {
		number, isOpen := open[e.Client]
		if isOpen != e.IsReturn {
			return false
		}
		kind := porcupine.ReturnEvent
		if e.IsReturn {
			delete(open, e.Client)
		} else {
			kind, number = porcupine.CallEvent, operations
			open[e.Client] = number
			operations++
		}
		events = append(events, porcupine.Event{ClientId: e.Client, Kind: kind, Value: e.Value, Id: number})
	}
	// What is pending ends after everything else, so it may take effect last, where nobody sees it.
	for client, number := range open {
		events = append(events, porcupine.Event{
			ClientId: client, Kind: porcupine.ReturnEvent, Value: pending{}, Id: number,
		})
	}
	return porcupine.CheckEvents(o.model(), events)
}

// model is the object as Porcupine wants it.
func (o Object) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return o.Init },
		Step: func(state, input, output any) (bool, any) {
			next, want := o.Apply(state, input)
			return output == pending{} || reflect.DeepEqual(output, want), next
		},
		Equal: reflect.DeepEqual,
	}
}

// Always states that the history of each node is linearizable at all times. Nodes that keep none
// have an empty one.
func Always(name string, o Object,
	history func(id protocol.ID, node protocol.Node) History) protocol.Property {
	return protocol.Always(name, history, func(histories []History) bool {
		return !slices.ContainsFunc(histories, func(h History) bool { return !o.Holds(h) })
	})
}
