package dials

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/tandem-mc/tandem/configs"
)

// Resolve puts names in the place of the addresses that they have led to, and adds those that led
// to nothing. It gives addresses to names that have none, and reports whether there were any.
func Resolve(d *configs.Draft, hosts map[netip.Addr]string) (found bool) {
	// A name may be looked up and never dialled: then its port stays unknown.
	dialled := map[string]bool{}
	for i := range d.Dialled {
		w := &d.Dialled[i]
		if name, ok := hosts[w.Address.At.Addr()]; ok {
			w.Name = name
			dialled[name] = true
		} else if w.Name != "" {
			// The first addresses of this network are taken by what programs use.
			hosts[netip.AddrFrom4([4]byte{127, 77, 0, byte(len(hosts) + 1)})] = w.Name
			dialled[w.Name], found = true, true
		}
	}
	for _, name := range slices.Sorted(maps.Values(hosts)) {
		if !dialled[name] {
			d.Dialled = append(d.Dialled, configs.Wanted{Name: name})
		}
	}
	return found
}
