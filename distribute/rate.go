package distribute

import "time"

// rateSpan is the time over which a rate is an average. Between two parts there are no executions
// for a while, and some kinds of parts tell how many they had when they end.
const rateSpan = time.Minute

// rate says how many executions there are in a second. The zero value knows nothing yet.
type rate struct {
	at     []time.Time
	counts []int // by then
}

// note takes how many executions there are by now, and returns how many there were in a second
// since rateSpan ago, or since the first call. It is called often in that time. What was noted
// before a call with fewer executions is forgotten.
func (r *rate) note(now time.Time, executions int) float64 {
	if n := len(r.counts); n > 0 && executions < r.counts[n-1] {
		*r = rate{}
	}
	// The oldest one that is kept is the last from before the span.
	for len(r.at) > 1 && now.Sub(r.at[1]) >= rateSpan {
		r.at, r.counts = r.at[1:], r.counts[1:]
	}
	r.at, r.counts = append(r.at, now), append(r.counts, executions)
	took := now.Sub(r.at[0])
	if took <= 0 {
		return 0
	}
	return float64(executions-r.counts[0]) / took.Seconds()
}
