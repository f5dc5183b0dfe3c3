package main

import (
	"context"
	"errors"
	"time"
)

var (
	background  = context.Background()
	ctx, cancel = context.WithCancelCause(background)
	errCause    = errors.New("cause")
)

var ofContext = map[string]prepared{
	"context.AfterFunc":  just(func() { context.AfterFunc(ctx, func() {}) }),
	"context.Background": just(func() { context.Background() }),
	"context.CancelCauseFunc": func() func() {
		ctx.Done()
		return func() { context.CancelCauseFunc(cancel)(errCause) }
	},
	"context.CancelFunc": func() func() {
		ctx, cancel := context.WithCancel(ctx)
		ctx.Done()
		return func() { context.CancelFunc(cancel)() }
	},
	"context.Cause":             just(func() { _ = context.Cause(ctx) }),
	"context.Context.Deadline":  just(func() { context.Context(ctx).Deadline() }),
	"context.Context.Done":      just(func() { context.Context(ctx).Done() }),
	"context.Context.Err":       just(func() { _ = context.Context(ctx).Err() }),
	"context.Context.Value":     just(func() { context.Context(ctx).Value(1) }),
	"context.TODO":              just(func() { context.TODO() }),
	"context.WithCancel":        just(func() { keep(context.WithCancel(ctx)) }),
	"context.WithCancelCause":   just(func() { keepCause(context.WithCancelCause(ctx)) }),
	"context.WithDeadline":      just(func() { keep(context.WithDeadline(ctx, time.Now().Add(time.Hour))) }),
	"context.WithDeadlineCause": just(func() { keep(context.WithDeadlineCause(ctx, time.Now().Add(time.Hour), errCause)) }),
	"context.WithTimeout":       just(func() { keep(context.WithTimeout(ctx, time.Hour)) }),
	"context.WithTimeoutCause":  just(func() { keep(context.WithTimeoutCause(ctx, time.Hour, errCause)) }),
	"context.WithValue":         just(func() { _ = context.WithValue(ctx, ofContextKey{}, 1) }),
	"context.WithoutCancel":     just(func() { context.WithoutCancel(ctx) }),
}

type ofContextKey struct{}

// keep takes a context that is never cancelled.
func keep(context.Context, context.CancelFunc) {}

func keepCause(context.Context, context.CancelCauseFunc) {}
