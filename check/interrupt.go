package check

import (
	"context"
	"errors"

	"github.com/tandem-mc/tandem/explore"
)

// interrupted reports whether an error is one that a check may have had because it was
// interrupted. What contradicts itself does so anyway.
func interrupted(ctx context.Context, err error) bool {
	var divergence *explore.DivergenceError
	var log *explore.LogError
	return ctx.Err() != nil && !errors.As(err, &divergence) && !errors.As(err, &log)
}

// endedWith is the error of a check that has ended already, when another error comes. A
// contradiction takes the place of an interrupt; otherwise the first error stays, or none.
func endedWith(ctx context.Context, ended, err error) error {
	if ended != nil && err != nil && interrupted(ctx, ended) && !interrupted(ctx, err) {
		return err
	}
	return ended
}
