package ckptd

// Check returns nil while the daemon, the proxy and all peers of the group live, else an
// error that names what has died. It is for callers that have no business with the
// group for a while, and costs some microseconds.
func (g *Group) Check() error {
	if err := g.client.Err(); err != nil {
		return err
	}
	g.operation.Lock()
	defer g.operation.Unlock()
	watch, err := g.watch()
	if err != nil {
		return err
	}
	return g.because(watch.Check())
}
