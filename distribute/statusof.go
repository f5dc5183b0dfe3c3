package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// StatusOf is what there is to know of a server. It makes nothing there.
func StatusOf(ctx context.Context, o Options) (*Status, error) {
	if isEmbedded(o.URL) {
		return nil, errors.New("the status is that of a server elsewhere: give the URL that tandem check " +
			"--distribute has shown")
	}
	// Without the queues: to look is not to lead.
	c, err := connect(o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var s *Status
	err = agreed(ctx, func(ctx context.Context) (err error) {
		s, err = c.status(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("NATS server %s: %w", WithoutSecret(c.url), err)
	}
	return s, nil
}

func (c *connection) status(ctx context.Context) (*Status, error) {
	s := &Status{}
	state, err := c.js.KeyValue(ctx, stateBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return s, nil // nobody has ever led or worked there
	}
	if err != nil {
		return nil, err
	}
	if s.Progress, err = runOf(ctx, state); err != nil {
		return nil, err
	}
	// Workers are there without a run, too: they wait for one.
	keys, err := state.Keys(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, err
	}
	for _, key := range keys {
		var w Worker
		entry, err := state.Get(ctx, key)
		if !strings.HasPrefix(key, workerKey) || err != nil || json.Unmarshal(entry.Value(), &w) != nil {
			continue // it has gone meanwhile
		}
		s.Workers = append(s.Workers, w)
	}
	slices.SortFunc(s.Workers, func(a, b Worker) int { return strings.Compare(a.Host+a.ID, b.Host+b.ID) })
	return s, nil
}
