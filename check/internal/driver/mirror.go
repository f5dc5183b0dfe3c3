package driver

import (
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// Mirror follows an execution that others answer in the cache of a driver, to compare the answers.
type Mirror struct {
	d      *Driver
	cursor *iocache.Cursor
}

// Mirror begins to follow an execution.
func (d *Driver) Mirror() *Mirror {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Mirror{d, d.cache.Cursor(d.scope)}
}

// Choose follows the choice of how the peers behave, which comes first.
func (m *Mirror) Choose(behaviour int) error {
	_, err := m.Compare(model.Input{Kind: model.Choose, Conn: behaviour}, model.Reaction{})
	return err
}

// Compare follows an input with its reaction. Known is whether the cache has an answer to it. If
// that is another one, or something arrived on another connection, the error says so; see
// iocache.Cursor.Compare.
func (m *Mirror) Compare(in model.Input, got model.Reaction) (known bool, err error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	return m.cursor.Compare(in, got)
}
