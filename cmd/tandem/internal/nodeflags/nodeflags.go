// Package nodeflags says which flags of tandem check a check of several programs knows.
package nodeflags

import (
	"fmt"
	"maps"
	"slices"
)

// known are the flags that a check of several programs takes into account. All others are refused:
// those about peers mean nothing there, and what the rest asks for it does not do.
var known = map[string]bool{"config": true, "executions": true, "depth": true, "time": true,
	"tags": true, "preempt-in": true, "races": true, "date": true, "verbose": true, "leaks": true,
	"violations": true, "out": true, "out-dir": true, "unfold": true, "json": true, "sarif": true,
	"junit": true, "github": true, "components": true, "faults": true, "run": true, "resume": true,
	"save-interval": true, "delays": true, "search": true, "seed": true, "workers": true,
	"shrink": true, "search-mib": true, "distribute": true, "nats-creds": true, "nats-nkey": true,
	"nats-ca": true, "nats-cert": true, "nats-key": true}

// advice is what to do instead of a flag that is refused, or why it is not needed.
var advice = map[string]string{
	"pct-depth":    "; priorities change up to three times at each node",
	"preemptions":  ", and bound the search by --delays, --executions or --time",
	"early-timers": ", and have a node sleep where it is to be slow",
}

// Refused is the error of a flag of tandem check that a check of several programs does not know;
// nil: it knows it. To ignore a flag would give a verdict about something else.
func Refused(name string) error {
	if known[name] {
		return nil
	}
	return fmt.Errorf("--%s cannot be used together with nodes: leave it out%s", name, advice[name])
}

// Names are the flags that are known, or refused with advice, in no order.
func Names() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(known)), maps.Keys(advice))
}
