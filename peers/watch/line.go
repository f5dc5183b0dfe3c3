package watch

import "time"

// Time is how far the group's line of time has gone. It begins at 0. Only Elapse and Restored
// move it.
func (w *Watch) Time() time.Duration { return w.timers.time }

// Elapse moves the group's line of time on. Waits that are seen from now on began there.
func (w *Watch) Elapse(d time.Duration) { w.timers.time += d }

// Save returns what a group that is restored from a checkpoint taken now has to know of the
// timers that are set. The checkpoint itself interrupts what threads wait in: these waits begin
// again.
func (w *Watch) Save() Saved { return w.timers.save() }

// Restored continues the group's line of time where it was at the checkpoint that the group was
// restored from.
func (w *Watch) Restored(s Saved) {
	w.timers.saved, w.timers.time, w.timers.restored = s, s.time, time.Now()
}

// SavedTimers lists the timers that were set at the checkpoint that the group was restored from,
// and have not been seen since. The first comes first. Waits of which nothing comes are left out.
func (w *Watch) SavedTimers() []Timer { return w.timers.notSeen() }

// ShareTicks makes the watch use, and add to, what an earlier incarnation has shown.
func (w *Watch) ShareTicks(t Ticks) { w.timers.ticks = t }

// Timers lists the timers that were set when Quiesce last found the group quiescent. The first
// comes first.
func (w *Watch) Timers() []Timer { return w.timers.set() }

// Late reports whether a timer that was set when Quiesce last found the group quiescent has ended
// in real time, and is no ticker: the group has gone on since by itself.
func (w *Watch) Late() bool { return w.timers.isLate(time.Now()) }

// Fired reports whether a timer that was set has ended since.
func (w *Watch) Fired(t Timer) bool { return w.cuts.waits.fired(t) }

// Looked reports whether Quiesce has looked for timers in this incarnation of the group.
func (w *Watch) Looked() bool { return w.timers.looks > 0 }
