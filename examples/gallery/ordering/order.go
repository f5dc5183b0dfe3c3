package ordering

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/tandem-mc/tandem"
	"github.com/tandem-mc/tandem/examples/gallery/bug"
)

var orderBugs = []bug.Bug{
	{
		Name: "started-too-early", Class: orderViolation, Shows: bug.Panic,
		Doc:   "a constructor starts a goroutine before it has set all that the goroutine needs",
		Buggy: func() { newReader(true) },
		Fixed: func() { newReader(false) },
	},
	{
		Name: "registered-too-early", Class: orderViolation, Shows: bug.Exit,
		Doc:   "a service is announced before it listens, and its first client gives up",
		Buggy: func() { announce((*service).announceThenListen) },
		Fixed: func() { announce((*service).listenThenAnnounce) },
	},
	{
		Name: "closed-before-flushed", Class: orderViolation, Shows: bug.Assertion,
		Doc:   "a log is closed while a message is on its way to it",
		Buggy: func() { logAndClose((*log).close) },
		Fixed: func() { logAndClose((*log).closeWhenEmpty) },
	},
	{
		Name: "answer-to-another", Class: orderViolation, Shows: bug.Assertion,
		Doc:   "answers come in the order in which workers are done, and are taken for that of the requests",
		Buggy: func() { translate(inOrderOfArrival) },
		Fixed: func() { translate(byNumber) },
	},
	{
		Name: "released-while-used", Class: orderViolation, Shows: bug.Panic,
		Doc:   "a resource is released by who made it, and not by the last one who uses it",
		Buggy: func() { share((*resource).releaseAtOnce) },
		Fixed: func() { share((*resource).release) },
	},
}

// reader reads from a source in a goroutine of its own. The source is atomic: there
// is no data race, and the program is wrong all the same.
type reader struct {
	source atomic.Pointer[string]
	first  byte
	done   chan struct{}
}

func (r *reader) run() {
	defer close(r.done)
	r.first = (*r.source.Load())[0]
}

func newReader(startFirst bool) {
	text := "text"
	r := &reader{done: make(chan struct{})}
	if startFirst {
		go r.run()
	}
	r.source.Store(&text)
	if !startFirst {
		go r.run()
	}
	<-r.done
}

// service is found by its clients through a registry.
type service struct {
	announced chan struct{}
	listening atomic.Bool
}

// announceThenListen has the bug: clients are quick.
func (s *service) announceThenListen() {
	close(s.announced)
	s.listening.Store(true)
}

func (s *service) listenThenAnnounce() {
	s.listening.Store(true)
	close(s.announced)
}

func announce(start func(*service)) {
	s := service{announced: make(chan struct{})}
	var processes sync.WaitGroup
	processes.Go(func() { start(&s) })
	processes.Go(func() {
		<-s.announced
		if !s.listening.Load() {
			os.Exit(1) // connection refused
		}
	})
	processes.Wait()
}

// log writes its messages in a goroutine of its own.
type log struct {
	messages chan string
	quit     chan struct{}
	writer   sync.WaitGroup
	written  int
}

func (l *log) run() {
	for {
		select {
		case _, ok := <-l.messages:
			if !ok {
				return
			}
			l.written++
		case <-l.quit:
			return
		}
	}
}

// close has the bug: quit overtakes the messages that are in the channel.
func (l *log) close() {
	close(l.quit)
	l.writer.Wait()
}

// closeWhenEmpty ends the one channel, behind all messages.
func (l *log) closeWhenEmpty() {
	close(l.messages)
	l.writer.Wait()
}

func logAndClose(end func(*log)) {
	l := log{messages: make(chan string, 1), quit: make(chan struct{})}
	l.writer.Go(l.run)
	l.messages <- "the last words"
	end(&l)
	tandem.Assert(l.written == 1, "the last words were not written")
}

// answer is that of a worker, to the request with a number.
type answer struct {
	number int
	text   string
}

// inOrderOfArrival has the bug: who is asked first may answer last.
func inOrderOfArrival(answers <-chan answer, texts []string) {
	for i := range texts {
		texts[i] = (<-answers).text
	}
}

func byNumber(answers <-chan answer, texts []string) {
	for range texts {
		a := <-answers
		texts[a.number] = a.text
	}
}

func translate(collect func(answers <-chan answer, texts []string)) {
	words := []string{"eins", "zwei"}
	dictionary := map[string]string{"eins": "one", "zwei": "two"}
	answers := make(chan answer, len(words))
	for i, word := range words {
		go func() { answers <- answer{i, dictionary[word]} }()
	}
	texts := make([]string, len(words))
	collect(answers, texts)
	for i, word := range words {
		tandem.Assert(texts[i] == dictionary[word], word, " was translated as ", texts[i])
	}
}

// resource is something that must be released.
type resource struct {
	mu    sync.Mutex
	users int
	data  []byte // nil when it is released
}

func (r *resource) read() byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data[0]
}

// releaseAtOnce has the bug, where there are other users.
func (r *resource) releaseAtOnce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.data = nil
}

// release counts users.
func (r *resource) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.data = nil
	}
}

func share(release func(*resource)) {
	r := resource{users: 2, data: []byte("data")}
	var users sync.WaitGroup
	for range 2 {
		users.Go(func() {
			r.read()
			release(&r)
		})
	}
	users.Wait()
}
