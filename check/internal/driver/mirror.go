package driver

import (
	"sync"

	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
)

// Mirror follows an execution that others answer in the cache of a driver, to compare the answers.
// Several mirrors may be used at the same time, each by one goroutine.
type Mirror struct {
	mu     *sync.Mutex // of the cache
	cursor *iocache.Cursor
}

// Choose follows the choice of how the peers behave, which comes first. A driver whose peers have
// one behaviour has no such choice in its cache.
func (m *Mirror) Choose(behaviour int) error {
	_, err := m.Compare(model.Input{Kind: model.Choose, Conn: behaviour}, model.Reaction{})
	return err
}

// Compare follows an input with its reaction. Known is whether the cache has an answer to it. If
// that is another one, or something arrived on another connection, the error says so; see
// iocache.Cursor.Compare. The cursor moves on in any case, so that the next input is compared at
// its place.
func (m *Mirror) Compare(in model.Input, got model.Reaction) (known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursor.Compare(in, got)
}
