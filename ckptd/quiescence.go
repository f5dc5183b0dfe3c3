package ckptd

import (
	"fmt"

	"github.com/tandem-mc/tandem/peers"
)

// openWakings has wake-ups counted, if a way to judge quiescence wants or allows it.
func (c *Client) openWakings(method string) (err error) {
	switch method {
	case peers.MethodProcfs:
	case "", QuiescenceAuto:
		c.wakings, c.noWakings = peers.OpenWakings()
	case peers.MethodEBPF:
		c.wakings, err = peers.OpenWakings()
	default:
		err = fmt.Errorf("there is no way %.64q to judge quiescence: choose %s, %s or %s", method, QuiescenceAuto, peers.MethodProcfs, peers.MethodEBPF)
	}
	return err
}

// Quiescence is how it is told that groups are quiescent: peers.MethodProcfs or MethodEBPF. An error says
// why it is the first, where that was not asked for.
func (c *Client) Quiescence() (method string, why error) {
	if c.wakings == nil {
		return peers.MethodProcfs, c.noWakings
	}
	return peers.MethodEBPF, nil
}
