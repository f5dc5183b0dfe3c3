package narrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-mc/tandem/report"
	"github.com/tandem-mc/tandem/sut"
)

// addDial completes the step, the last one of a goroutine, in which it has dialled an address, or
// has begun to listen there: it has that, and what came of it. The search goes backwards, to the
// last step of the goroutine. A fault of the network that is chosen in between is passed over.
func addDial(steps []report.Step, goroutine int, d sut.Dial) {
	if d.Name != "" {
		return
	}
	operation := sut.SocketConnect
	if d.Serves {
		operation = sut.SocketBind
	}
	for i := range slices.Backward(steps) {
		step := &steps[i]
		if step.Goroutine != goroutine {
			continue
		}
		if rest, ok := strings.CutPrefix(step.Operation, operation.String()); ok && step.Object == "" &&
			(rest == "" || rest[0] == ',') {
			// How the peers behave leaves no room; the exchange below the step has the address.
			if rest == "" || d.Result != 0 {
				step.Operation = dialText(d, operation) + rest
			}
			return
		}
		if !strings.HasPrefix(step.Operation, "network: ") { // a fault is chosen after it has begun
			return
		}
	}
}

// dialText is what a step does, and the result if that is not the usual one. A listener that cannot
// be opened shows no result here.
func dialText(d sut.Dial, operation sut.Operation) string {
	text := strings.Replace(d.Address.String(), " ", ":", 1)
	if d.Serves {
		return "listen at " + text
	}
	text = fmt.Sprintf("%s to %s", operation, text)
	if d.Result != 0 {
		text += ": " + d.Result.Error()
	}
	return text
}
