package runtime

import _ "unsafe"

// tandemEstimates is what the program has said of how near it is to a violation.
var tandemEstimates struct {
	given bool
	last  int64
	at    uint32 // the record of it
}

// tandemEstimate records what tandem.Estimate was called with. It is no operation: nothing else can
// see it, so nobody is scheduled for it. A transition has one record at most, the last one, so that
// a loop which estimates does not fill the log.
//
//go:linkname tandemEstimate syscall.tandemEstimate
func tandemEstimate(n int64) {
	e, sh := &tandemEstimates, tandem.sh
	if !tandem.on || getg().tandem.id == 0 || e.given && e.last == n {
		return
	}
	if !e.given || e.at < tandem.step || e.at >= sh.records || sh.record[e.at].kind != recordEstimate {
		tandemRecord(record{kind: recordEstimate})
		e.given, e.at = true, sh.records-1
	}
	sh.record[e.at].a, e.last = uint64(n), n
}
