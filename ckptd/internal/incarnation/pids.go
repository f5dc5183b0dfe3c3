package incarnation

import (
	"errors"
	"maps"
	"slices"

	"github.com/tandem-mc/tandem/internal/sys"
	"github.com/tandem-mc/tandem/proxy"
)

// LastGiven asks the proxy, over the checker's end of its channel, for the process ID that was
// given last in the group.
func LastGiven(channel int) (int, error) {
	v, err := proxy.Visit(channel)
	if err != nil {
		return 0, err
	}
	last, err := v.Last()
	return last, errors.Join(err, v.End())
}

// GiveAfter has the proxy at the other end of a command channel see to it that the next process
// gets an ID as if this one had been given last. It returns descriptors of the proxy's sockets.
func GiveAfter(channel, last int) (sockets map[proxy.ID]int, err error) {
	v, err := proxy.Visit(channel)
	if err != nil {
		return nil, err
	}
	if err = v.SetLast(last); err == nil {
		sockets, _, err = v.Sockets()
	}
	if err = errors.Join(err, v.End()); err != nil {
		sys.CloseAll(slices.Collect(maps.Values(sockets)))
		return nil, err
	}
	return sockets, nil
}
