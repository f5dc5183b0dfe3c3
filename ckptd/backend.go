package ckptd

import (
	"context"
)

// backend is a way to save groups and to bring them back. Its methods are called with the
// group's lock held.
type backend interface {
	name() string
	// save saves the running incarnation, which goes on, as image i, files included.
	// An error that wraps errRefused says that the backend cannot hold the group, which
	// goes on as if nothing had happened; after any other one it may be in any state.
	save(ctx context.Context, h *hosted, i *image) error
	// stop ends what runs of the group, as far as it is not needed for revive.
	stop(h *hosted) error
	// revive starts what stop ended again, as it was when the image was saved, but for
	// files. It returns the checker's end of its channel.
	revive(ctx context.Context, h *hosted, i *image) (channel int, err error)
}
