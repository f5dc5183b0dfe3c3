package check

import (
	"fmt"
	"slices"
)

// The instructions of the machine. A method returns -1 if the instruction is not one of its kind, 0
// if it cannot go on now, and otherwise how many choices it has.

func (m *move) runChannel(in step) int {
	c := &m.channels[in.index(len(m.channels))]
	switch in.name {
	case "send":
		if m.phase == 1 {
			return m.sentTo()
		}
		m.sent++
		return m.wish([]wish{{sending, in.arg(0), m.value100()}}, false)
	case "recv", "done":
		if m.phase == 1 {
			return m.got(in.name, -1)
		}
		w := wish{receiving, in.arg(0), 0}
		if in.name == "done" {
			w.channel = len(m.channels) - 1
		}
		return m.wish([]wish{w}, false)
	case "select":
		if m.phase == 1 {
			return m.selected()
		}
		m.sent++
		return m.wish(m.arms(in), in.arg(0) == 1)
	case "close":
		if c.none {
			return m.panics("close of nil channel")
		}
		if c.closed {
			return m.panics("close of closed channel")
		}
		m.closeChannel(c)
		m.observe("close")
	case "cancel":
		if last := &m.channels[len(m.channels)-1]; !last.closed {
			m.closeChannel(last)
		}
		m.observe("cancel")
	case "err":
		m.observe("err", m.channels[len(m.channels)-1].closed)
	case "len":
		m.observe("len", len(c.buffer), c.capacity)
	default:
		return -1
	}
	return m.done(0)
}

func (m *move) value100() int { return 100*(m.number+1) + m.sent }

// wish is one arm of a select; a send and a receive have one.
type wish struct{ direction, channel, value int }

func (m *move) arms(in step) (list []wish) {
	for i := range 2 {
		switch direction := in.arg(1 + 2*i); direction {
		case waiting:
			list = append(list, wish{receiving, len(m.channels) - 1, 0})
		case sending, receiving:
			list = append(list, wish{direction, in.arg(2 + 2*i), m.value100()})
		}
	}
	return list
}

// wish takes one of the arms that are ready, or the default, or waits in line.
func (m *move) wish(arms []wish, otherwise bool) int {
	var ready []int
	for i, w := range arms {
		c := &m.channels[w.channel]
		room := w.direction == sending && len(c.buffer) < c.capacity || w.direction == receiving &&
			len(c.buffer) > 0
		if !c.none && (c.closed || room || len(c.queue[1-w.direction]) > 0) {
			ready = append(ready, i)
		}
	}
	m.phase = 1
	switch {
	case len(ready) > 0:
		m.arm = ready[m.choice]
		m.take(arms[m.arm])
		m.bodyOf()
		return len(ready)
	case otherwise:
		m.observe("D")
		return m.done(0)
	}
	m.blocked = true
	for i, w := range arms {
		if c := &m.channels[w.channel]; !c.none {
			c.queue[w.direction] = append(c.queue[w.direction], waiter{m.number, w.value, i})
		}
	}
	return 1
}

// bodyOf ends the instruction in the same step, since nothing was waited for.
func (m *move) bodyOf() { m.runChannel(m.bodies[m.number][m.pc]) }

// take performs an arm that is ready.
func (m *move) take(w wish) {
	c := &m.channels[w.channel]
	partners := c.queue[1-w.direction]
	switch {
	case w.direction == sending && c.closed:
		m.ok = false
	case w.direction == sending && len(partners) > 0:
		m.ok = true
		m.wake(partners[0], w.value, true)
	case w.direction == sending:
		m.ok = true
		c.buffer = append(c.buffer, w.value)
	case len(c.buffer) > 0:
		m.value, m.ok = c.buffer[0], true
		c.buffer = c.buffer[1:]
		if len(partners) > 0 {
			c.buffer = append(c.buffer, partners[0].value)
			m.wake(partners[0], 0, true)
		}
	case len(partners) > 0:
		m.value, m.ok = partners[0].value, true
		m.wake(partners[0], 0, true)
	default:
		m.value, m.ok = 0, false
	}
}

// wake lets the goroutine that waits go on, and takes it out of all lines.
func (m *move) wake(w waiter, value int, ok bool) {
	r := &m.routines[w.routine]
	r.blocked, r.value, r.ok, r.arm = false, value, ok, w.arm
	for i := range m.channels {
		for d := range m.channels[i].queue {
			q := &m.channels[i].queue[d]
			*q = slices.DeleteFunc(*q, func(x waiter) bool { return x.routine == w.routine })
		}
	}
}

func (m *move) closeChannel(c *channel) {
	c.closed = true
	for _, direction := range []int{receiving, sending} {
		for len(c.queue[direction]) > 0 {
			m.wake(c.queue[direction][0], 0, false)
		}
	}
}

func (m *move) sentTo() int {
	if !m.ok {
		return m.panics("send on closed channel")
	}
	m.observe("send")
	return m.done(0)
}

func (m *move) got(name string, arm int) int {
	switch {
	case name == "done":
		m.observe("done")
	case arm >= 0:
		m.observe(string(rune('A'+arm)), m.value, m.ok)
	default:
		m.observe("recv", m.value, m.ok)
	}
	return m.done(0)
}

func (m *move) selected() int {
	in := m.bodies[m.number][m.pc]
	switch in.arg(1 + 2*m.arm) {
	case receiving:
		return m.got("", m.arm)
	case sending:
		if !m.ok {
			return m.panics("send on closed channel")
		}
	}
	m.observe(string(rune('A' + m.arm)))
	return m.done(0)
}

func (m *move) runLock(in step) int {
	l := &m.locked[in.index(2)]
	switch in.name {
	case "lock":
		if *l {
			return 0
		}
		*l = true
		m.observe("lock")
	case "unlock":
		if !*l {
			return m.fatal("sync: unlock of unlocked mutex")
		}
		*l = false
	case "trylock":
		m.observe("trylock", !*l)
		if *l {
			return m.done(in.arg(1))
		}
		*l = true
	case "once":
		return m.enterOnce(in)
	default:
		return -1
	}
	return m.done(0)
}

func (m *move) enterOnce(in step) int {
	if m.phase == 0 && !m.once {
		m.phase = 1
		return 1
	}
	if m.phase == 1 && m.locked[2] {
		return 0
	}
	if m.once {
		m.observe("once")
		return m.done(in.arg(0))
	}
	m.locked[2] = true
	m.routine.ends = append(m.routine.ends, m.pc+1+in.arg(0))
	return m.done(0)
}

func (m *move) leaveOnce() {
	m.once, m.locked[2] = true, false
	m.routine.ends = m.routine.ends[:len(m.routine.ends)-1]
}

func (m *move) runReadWrite(in step) int {
	switch in.name {
	case "rlock":
		if m.phase == 0 && m.announced {
			m.phase, m.blocked = 1, true
			m.readersDue = append(m.readersDue, m.number)
			return 1
		}
		if m.phase == 0 {
			m.readers++
		}
		m.observe("rlock")
	case "runlock":
		if m.readers == 0 {
			return m.fatal("sync: RUnlock of unlocked RWMutex")
		}
		m.readers--
	case "wlock":
		return m.writeLock()
	case "wunlock":
		if m.phase == 0 && !m.announced {
			return m.fatal("sync: Unlock of unlocked RWMutex")
		}
		if m.phase == 0 {
			m.announced = false
			m.readers += len(m.readersDue)
			for _, g := range m.readersDue {
				m.routines[g].blocked = false
			}
			m.readersDue, m.phase = nil, 1
			return 1
		}
		m.writer = false
	case "tryrlock":
		m.observe("tryrlock", !m.announced)
		if m.announced {
			return m.done(in.arg(0))
		}
		m.readers++
	case "trywlock":
		return m.tryWriteLock(in)
	default:
		return -1
	}
	return m.done(0)
}

func (m *move) writeLock() int {
	switch m.phase {
	case 0:
		if m.writer {
			return 0
		}
		m.writer, m.phase = true, 1
		return 1
	case 1:
		m.announced, m.phase = true, 2
		return 1
	}
	if m.readers > 0 {
		return 0
	}
	m.observe("wlock")
	return m.done(0)
}

func (m *move) tryWriteLock(in step) int {
	switch m.phase {
	case 0:
		if !m.writer {
			m.writer, m.phase = true, 1
			return 1
		}
	case 1:
		if m.readers == 0 {
			m.announced = true
			m.observe("trywlock", true)
			return m.done(0)
		}
		m.phase = 2
		return 1
	case 2:
		m.writer = false
	}
	m.observe("trywlock", false)
	return m.done(in.arg(0))
}

// addTo changes the counter of the WaitGroup; false if that ended the program.
func (m *move) addTo(n int) bool {
	m.counter += n
	if m.counter < 0 {
		m.panics("sync: negative WaitGroup counter")
		return false
	}
	if m.counter == 0 {
		for _, g := range m.waiters {
			m.routines[g].blocked = false
		}
		m.waiters = nil
	}
	return true
}

func (m *move) runWait(in step) int {
	switch in.name {
	case "add":
		if !m.addTo(in.arg(0)) {
			return 1
		}
	case "wait":
		if m.phase == 0 && m.counter > 0 {
			m.phase, m.blocked = 1, true
			m.waiters = append(m.waiters, m.number)
			return 1
		}
		if m.phase == 1 && (m.counter > 0 || len(m.waiters) > 0) {
			return m.panics("sync: WaitGroup is reused before previous Wait has returned")
		}
		m.observe("wait")
	case "wggo":
		if m.phase == 0 {
			m.phase = 1
			m.addTo(1)
			return 1
		}
		m.routines[in.arg(0)].started, m.routines[in.arg(0)].counted = true, true
	case "go":
		m.routines[in.arg(0)].started = true
	default:
		return -1
	}
	return m.done(0)
}

func (m *move) runCond(in step) int {
	switch in.name {
	case "condwait":
		return m.condWait()
	case "signal", "broadcast":
		for len(m.notify) > 0 {
			m.routines[m.notify[0]].ok = true
			m.notify = m.notify[1:]
			if in.name == "signal" {
				break
			}
		}
		m.observe(in.name)
		return m.done(0)
	}
	return -1
}

func (m *move) condWait() int {
	switch m.phase {
	case 0:
		m.notify, m.ok = append(m.notify, m.number), false
	case 1:
		if !m.locked[0] {
			return m.fatal("sync: unlock of unlocked mutex")
		}
		m.locked[0] = false
	case 2:
		if !m.ok {
			return 0
		}
	case 3:
		if m.locked[0] {
			return 0
		}
		m.locked[0] = true
		m.observe("condwait")
		return m.done(0)
	}
	m.phase++
	return 1
}

func (m *move) runOther(in step) int {
	n := &m.numbers[in.index(2)]
	old := *n
	switch in.name {
	case "load":
		m.observe("load", old)
	case "store":
		*n = in.arg(1)
	case "addto":
		*n += in.arg(1)
		m.observe("addto", *n)
	case "swap":
		*n = in.arg(1)
		m.observe("swap", old)
	case "cas":
		if old == in.arg(1) {
			*n = in.arg(2)
		}
		m.observe("cas", old == in.arg(1))
	case "and":
		*n &= in.arg(1)
		m.observe("and", old)
	case "or":
		*n |= in.arg(1)
		m.observe("or", old)
	case "point":
		m.observe("point", !m.pointer)
		m.pointer = true
	case "keep", "drop":
		m.inTable(in)
	case "yield":
	case "die":
		if m.phase == 0 {
			m.phase = 1
			return 1
		}
		return m.panics("die")
	case "leave":
		return m.leave()
	default:
		panic(fmt.Sprint("unknown instruction ", in))
	}
	return m.done(0)
}

func (m *move) inTable(in step) {
	old := m.table[in.arg(0)]
	switch {
	case in.name == "drop" && old == 0:
		m.observe("drop", nil, false)
	case in.name == "drop":
		m.observe("drop", old, true)
		m.table[in.arg(0)] = 0
	case old == 0:
		m.observe("keep", in.arg(1), false)
		m.table[in.arg(0)] = in.arg(1)
	default:
		m.observe("keep", old, true)
	}
}

// leave ends the goroutine, which runs what is deferred.
func (m *move) leave() int {
	for len(m.routine.ends) > 0 {
		m.leaveOnce()
	}
	m.pc, m.left = len(m.bodies[m.number]), true
	m.phase = 0
	return 1
}
