package show

import (
	"fmt"
	"runtime"
	"strings"
)

// PanicLine is where the code of a node has panicked. It is called by a deferred function.
func PanicLine() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for isPanicking := false; ; {
		f, more := frames.Next()
		// The frames of the runtime lie between its panic and the code that caused it.
		isRuntime := strings.HasPrefix(f.Function, "runtime.")
		isOwn := strings.Contains(f.Function, "/protocol.(*Env).")
		if isPanicking && !isRuntime && !isOwn {
			return fmt.Sprintf("%s:%d", ShortPath(f.File), f.Line)
		}
		isPanicking = isPanicking || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// First is the first of a list; empty if there is none.
func First(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
