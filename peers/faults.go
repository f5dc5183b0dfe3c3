package peers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/proxy"
)

// CheckFaults returns an error if connections to the peers of these names cannot be told from those
// to others.
func (g Group) CheckFaults(names []string) error {
	var known []string
	clients, chosen := 0, 0
	for _, p := range g.Peers {
		known = append(known, p.Name)
		switch named := slices.Contains(names, p.Name); {
		case named && p.Listen == "" && !p.IsClient():
			return fmt.Errorf("no connection to the peer %s is known: it has neither listen nor after", p.Name)
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
			return fmt.Errorf("there is no peer %.40q: there are %s", name, strings.Join(known, ", "))
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
