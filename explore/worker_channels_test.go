package explore

import "slices"

// channel executes operations on channels.
func (w *worker) channel(g *simGoroutine, in instruction, choice int) {
	w.access(in.object, Write)
	c := &w.objects[in.object]
	if in.op == opSend {
		switch {
		case len(c.receivers) > 0:
			r := w.dequeue(&c.receivers)
			r.goroutine.regs[r.reg] = in.value
			w.resume(r.goroutine)
		case len(c.buffer) < c.capacity:
			c.buffer = append(c.buffer, in.value)
		default:
			w.enqueue(&simWaiter{goroutine: g, value: in.value, objects: []int{in.object}}, true)
		}
		return
	}
	arms := []int{in.object}
	if in.op == opSelect {
		w.access(in.other, Write)
		if arms = w.readyArms(in); len(arms) == 0 {
			w.enqueue(&simWaiter{goroutine: g, reg: in.reg, objects: []int{in.object, in.other}}, false)
			return
		}
	}
	c = &w.objects[arms[choice]]
	var s *simWaiter
	if len(c.senders) > 0 {
		s = w.dequeue(&c.senders)
		c.buffer = append(c.buffer, s.value)
		w.resume(s.goroutine)
	}
	if len(c.buffer) == 0 {
		w.enqueue(&simWaiter{goroutine: g, reg: in.reg, objects: arms}, false)
		return
	}
	g.regs[in.reg] = c.buffer[0]
	c.buffer = c.buffer[1:]
}

func (w *worker) enqueue(waiter *simWaiter, sends bool) {
	waiter.goroutine.blocked = true
	for _, o := range waiter.objects {
		if sends {
			w.objects[o].senders = append(w.objects[o].senders, waiter)
		} else {
			w.objects[o].receivers = append(w.objects[o].receivers, waiter)
		}
	}
}

// dequeue takes the first of a queue out of all queues that it is in: it uses all
// channels of a select that it wakes.
func (w *worker) dequeue(queue *[]*simWaiter) *simWaiter {
	first := (*queue)[0]
	same := func(other *simWaiter) bool { return other == first }
	for _, o := range first.objects {
		w.access(o, Write)
		w.objects[o].senders = slices.DeleteFunc(w.objects[o].senders, same)
		w.objects[o].receivers = slices.DeleteFunc(w.objects[o].receivers, same)
	}
	return first
}
