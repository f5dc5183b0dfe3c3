// Package orphan finds goroutines that a function has started and left.
package orphan

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/tandem-mc/tandem/protocol/internal/show"
)

// Watch has handlers run, and looks whether a goroutine is left, which is an error that names its
// function and line. The label differs from those of other calls by the caller. Calls may be
// concurrent, also by several callers: then the label has something more that is their own.
func Watch(label string, runs func() error) (err error) {
	before := runtime.NumGoroutine()
	label += fmt.Sprintf(" %p", &before)
	// Goroutines inherit labels, so those of others are not taken for the handler's.
	pprof.Do(context.Background(), pprof.Labels(handlerLabel, label), func(context.Context) {
		err = runs()
	})
	// A profile takes long, and is needed only if there are more goroutines.
	if err != nil || runtime.NumGoroutine() <= before {
		return err
	}
	where, err := leftGoroutine(label)
	if err == nil && where != "" {
		err = fmt.Errorf("it starts a goroutine, %s: do without, or send a message", where)
	}
	return err
}

// leftGoroutine says what a goroutine with a label runs; empty if there is none. One that has not
// run yet has no stack, so it is given the processor a few times.
func leftGoroutine(label string) (where string, err error) {
	const attempts = 100
	for range attempts {
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			return "", err
		}
		// A goroutine may end while it is looked for.
		found := false
		if where, found = goroutineLine(profile.String(), label); where != "" || !found {
			return where, nil
		}
		runtime.Gosched()
	}
	return "which has not run yet", nil
}

// handlerLabel is the label of goroutines that a handler has started.
const handlerLabel = "tandem protocol handler"

// goroutineLine finds a goroutine with the label in a profile, and what it runs.
func goroutineLine(profile, label string) (where string, found bool) {
	for _, block := range strings.Split(profile, "\n\n") {
		if !strings.Contains(block, fmt.Sprintf("%q:%q", handlerLabel, label)) {
			continue
		}
		// The last line is where the goroutine began: #, address, function, file and line.
		lines := strings.Split(strings.TrimSpace(block), "\n")
		fields := strings.Fields(lines[len(lines)-1])
		if len(fields) < 4 || !strings.HasPrefix(fields[1], "0x") {
			return "", true
		}
		function, _, _ := strings.Cut(fields[2], "+0x")
		return "in " + function + " (" + show.ShortPath(fields[3]) + ")", true
	}
	return "", false
}
