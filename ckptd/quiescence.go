package ckptd

import (
	"fmt"

	"github.com/tandem-mc/tandem/peers/watch"
)

// openWakeups has wake-ups counted, if a way to judge quiescence wants or allows it.
func (c *Client) openWakeups(method string) (err error) {
	switch method {
	case watch.MethodProcfs:
	case "", QuiescenceAuto:
		c.wakeups, c.noWakeups = watch.OpenWakeups()
	case watch.MethodEBPF:
		c.wakeups, err = watch.OpenWakeups()
	default:
		err = fmt.Errorf("there is no way %.64q to judge quiescence: choose %s, %s or %s", method, QuiescenceAuto, watch.MethodProcfs, watch.MethodEBPF)
	}
	return err
}

// Quiescence is how it is told that groups are quiescent: watch.MethodProcfs or MethodEBPF. An error says
// why it is the first, where that was not asked for.
func (c *Client) Quiescence() (method string, why error) {
	if c.wakeups == nil {
		return watch.MethodProcfs, c.noWakeups
	}
	return watch.MethodEBPF, nil
}
