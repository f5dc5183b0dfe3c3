package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var toolBugs = []bug.Bug{
	{
		Name: "stringbuffer", Class: atomicity, Shows: bug.Panic,
		Doc:   "a buffer asks another for its length, and then for so many bytes, which are gone",
		Buggy: func() { appendWhileCut((*text).copyTwoSteps) },
		Fixed: func() { appendWhileCut((*text).copyOneStep) },
	},
	{
		Name: "pbzip2", Class: order, Shows: bug.Panic,
		Doc:   "the main goroutine takes the queue down when it is empty, and a consumer still looks at it",
		Buggy: func() { compress(false) },
		Fixed: func() { compress(true) },
	},
	{
		Name: "aget", Class: atomicity, Shows: bug.Assertion,
		Doc:   "a download that is interrupted saves its progress while parts of it go on",
		Buggy: func() { interrupt((*download).save) },
		Fixed: func() { interrupt((*download).saveStopped) },
	},
	{
		Name: "ctrace", Class: dataRace, Shows: bug.DataRace,
		Doc:   "the switch of a tracer is read without the lock under which it is turned",
		Buggy: func() { trace(false) },
		Fixed: func() { trace(true) },
	},
}

// text is a buffer that is safe for concurrent use.
type text struct {
	mu    sync.Mutex
	bytes []byte
}

func (t *text) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.bytes)
}

func (t *text) first(n int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.bytes[:n:len(t.bytes)]...)
}

func (t *text) cut(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append([]byte(nil), t.bytes[n:]...)
}

// copyTwoSteps has the bug. It shows if the text is cut in between.
func (t *text) copyTwoSteps() []byte { return t.first(t.length()) }

func (t *text) copyOneStep() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.bytes...)
}

func appendWhileCut(copyAll func(*text) []byte) {
	t := text{bytes: []byte("abc")}
	var users sync.WaitGroup
	users.Go(func() { t.cut(3) })
	copyAll(&t)
	users.Wait()
}

// blocks is a queue of blocks to compress.
type blocks struct {
	mu   sync.Mutex
	left int
}

// compress has three consumers. Unless it waits for them, it takes the queue down as soon as the
// last block was taken. That shows if a consumer comes back to the queue afterwards.
func compress(waitFirst bool) {
	var queue atomic.Pointer[blocks]
	queue.Store(&blocks{left: 3})
	empty := make(chan bool, 3)
	var consumers sync.WaitGroup
	for range 3 {
		consumers.Go(func() {
			for {
				q := queue.Load()
				q.mu.Lock()
				if q.left == 0 {
					q.mu.Unlock()
					return
				}
				if q.left--; q.left == 0 {
					empty <- true
				}
				q.mu.Unlock()
			}
		})
	}
	<-empty
	if waitFirst {
		consumers.Wait()
	}
	queue.Store(nil)
	consumers.Wait()
}

// download has two parts, each with its place in the file, and a count of all bytes.
type download struct {
	mu      sync.Mutex
	stopped bool
	total   int
	places  [2]atomic.Int32
}

// write takes the next bytes of a part, unless the download is stopped.
func (d *download) write(part int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.places[part].Add(1)
	d.total++
}

// save has the bug. It shows if a part goes on between the look at its place and that at the sum.
func (d *download) save() (places [2]int, total int) {
	for part := range d.places {
		places[part] = int(d.places[part].Load())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return places, d.total
}

// saveStopped stops the download first.
func (d *download) saveStopped() (places [2]int, total int) {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	return d.save()
}

func interrupt(save func(*download) ([2]int, int)) {
	var d download
	var users sync.WaitGroup
	for part := range d.places {
		users.Go(func() {
			for range 3 {
				d.write(part)
			}
		})
	}
	users.Go(func() {
		places, total := save(&d)
		tandem.Assert(places[0]+places[1] == total, "the parts ", places, " do not make ", total)
	})
	users.Wait()
}

// trace has the bug unless it asks under the lock. It shows in every order in which the goroutine
// that asks does not have the lock after the one that turns it off.
func trace(locked bool) (lines int) {
	var mu sync.Mutex
	on := true
	var users sync.WaitGroup
	users.Go(func() {
		mu.Lock()
		defer mu.Unlock()
		on = false
	})
	isOn := func() bool { return on }
	if locked {
		isOn = func() bool {
			mu.Lock()
			defer mu.Unlock()
			return on
		}
	}
	if isOn() {
		mu.Lock()
		lines++
		mu.Unlock()
	}
	users.Wait()
	return lines
}
