// Command world has small programs whose outcome depends on when files change
// and signals arrive. The first argument names one; it prints which outcome it had.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

var scenarios = map[string]func(){
	"one file": oneFile, "two files": twoFiles, "exclusive": exclusive, "list": list, "rename": rename, "append": appending,
	"offset": offset, "replace": replace, "locked": locked, "lock or not": lockOrNot, "closed": closed, "removed": removed,
	"readers": readers, "moved directory": movedDirectory, "working directory": workingDirectory, "full": full,
	"handled": handled, "kill": kill, "ignored": ignored, "notify": notify, "notify context": notifyContext,
	"arrives": arrives, "arrives late": arrivesLate, "none": none, "shutdown": shutdown, "shutdown fixed": shutdownFixed,
}

func main() { scenarios[os.Args[1]]() }

func both(a, b func()) {
	var wg sync.WaitGroup
	wg.Go(a)
	wg.Go(b)
	wg.Wait()
}

func read(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return errors.Unwrap(err).Error()
	}
	return string(b)
}

func write(name, text string) { os.WriteFile(name, []byte(text), 0o600) }

func oneFile() {
	both(func() { write("f", "one") }, func() { write("f", "two") })
	fmt.Print(read("f"))
}

func twoFiles() {
	both(func() { write("f", "one") }, func() { write("g", "two") })
	fmt.Print(read("f"), read("g"))
}

func exclusive() {
	won := make(chan string, 2)
	try := func(who string) {
		f, err := os.OpenFile("lock", os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			won <- who
			f.Close()
		}
	}
	both(func() { try("a") }, func() { try("b") })
	fmt.Print(<-won, len(won))
}

func list() {
	os.Mkdir("d", 0o700)
	var seen []string
	both(func() { write("d/a", ""); write("d/b", "") }, func() {
		entries, _ := os.ReadDir("d")
		for _, e := range entries {
			seen = append(seen, e.Name())
		}
	})
	fmt.Print(seen)
}

// rename replaces a file at once: a reader sees the old or the new one.
func rename() {
	write("f", "old")
	write("g", "new")
	var seen string
	both(func() { os.Rename("g", "f") }, func() { seen = read("f") })
	fmt.Print(seen)
}

// replace does not: a reader can find it empty.
func replace() {
	write("f", "old")
	var seen string
	both(func() { write("f", "new") }, func() { seen = read("f") })
	fmt.Print(seen)
}

func appending() {
	add := func(text string) {
		f, _ := os.OpenFile("f", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		f.WriteString(text)
		f.Close()
	}
	both(func() { add("a") }, func() { add("b") })
	fmt.Print(read("f"))
}

// offset shares a description between two goroutines.
func offset() {
	f, _ := os.Create("f")
	both(func() { f.WriteString("a") }, func() { f.WriteString("b") })
	f.Close()
	fmt.Print(read("f"))
}

// locked adds to a number in a file, under a lock.
func locked() {
	write("n", "")
	add := func() {
		f, _ := os.OpenFile("n", os.O_RDWR, 0)
		syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		write("n", read("n")+"1")
		f.Close()
	}
	both(add, add)
	fmt.Print(read("n"))
}

func lockOrNot() {
	write("n", "")
	add := func(how int) {
		f, _ := os.Open("n")
		if syscall.Flock(int(f.Fd()), how) == nil {
			write("n", read("n")+"1")
		}
		f.Close()
	}
	both(func() { add(syscall.LOCK_SH) }, func() { add(syscall.LOCK_EX | syscall.LOCK_NB) })
	fmt.Print(read("n"))
}

func closed() {
	f, _ := os.Create("f")
	var err error
	both(func() { _, err = f.WriteAt([]byte("x"), 0) }, func() { syscall.Close(int(f.Fd())) })
	fmt.Print(err == nil)
}

func removed() {
	write("f", "here")
	var seen string
	both(func() { os.Remove("f") }, func() { seen = read("f") })
	fmt.Print(seen)
}

// readers do not change anything.
func readers() {
	both(func() { read("f"); os.Stat("."); os.ReadDir(".") }, func() { read("f"); os.Stat("."); os.ReadDir(".") })
}

func movedDirectory() {
	os.Mkdir("d", 0o700)
	var err error
	both(func() { os.Rename("d", "e") }, func() { _, err = os.Create("d/f") })
	_, at := os.Stat("e/f")
	fmt.Print(err == nil, at == nil)
}

func workingDirectory() {
	os.Mkdir("d", 0o700)
	both(func() { os.Chdir("d") }, func() { write("f", "") })
	os.Chdir("/")
	found, _ := filepath.Glob("/tmp/tandem-world*/*/f")
	fmt.Print(len(found))
}

// full has two writers meet the end of the disk, of 1 MiB.
func full() {
	var results [2]bool
	fill := func(i int) func() {
		return func() { results[i] = os.WriteFile(fmt.Sprint("f", i), make([]byte, 600_000), 0o600) == nil }
	}
	both(fill(0), fill(1))
	fmt.Print(results)
}

func self(s syscall.Signal) { syscall.Kill(os.Getpid(), s) }

func handled() {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGHUP)
	self(syscall.SIGUSR1)
	fmt.Print(<-c)
	p, _ := os.FindProcess(os.Getpid())
	fmt.Print(" ", p.Signal(syscall.SIGHUP), " ", <-c, " ", p.Signal(syscall.Signal(0)))
}

func kill() {
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	fmt.Print("never")
}

func ignored() {
	signal.Ignore(syscall.SIGTERM)
	self(syscall.SIGTERM)
	self(syscall.SIGWINCH)
	fmt.Print(signal.Ignored(syscall.SIGTERM))
	signal.Reset(syscall.SIGTERM)
	self(syscall.SIGTERM)
}

// notify races the handler against the signal.
func notify() {
	c := make(chan os.Signal, 1)
	both(func() { signal.Notify(c, syscall.SIGTERM) }, func() { self(syscall.SIGTERM) })
	fmt.Print(<-c)
}

func notifyContext() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	self(syscall.SIGINT)
	<-ctx.Done()
	fmt.Print(ctx.Err())
}

// arrives waits for one of two signals, or for work to be done.
func arrives() {
	c, done := make(chan os.Signal, 1), make(chan bool, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() { done <- true }()
	select {
	case s := <-c:
		fmt.Print(s)
	case <-done:
		fmt.Print("done")
	}
}

func arrivesLate() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	for i := range 3 {
		select {
		case <-c:
			fmt.Print("after ", i)
			return
		case <-time.After(time.Second):
		}
	}
	fmt.Print("never")
}

func none() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	fmt.Print("done")
}

// server works until it is told to stop. Its two ways to stop are checked apart.
type server struct {
	mu      sync.Mutex
	stopped bool
	jobs    chan string
	done    chan bool
}

func (s *server) work() {
	for job := range s.jobs {
		fmt.Print(strings.ToUpper(job))
	}
	close(s.done)
}

func (s *server) submit(job string, checked bool) {
	if checked {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.stopped {
			return
		}
	}
	s.jobs <- job // panics if the server has stopped
}

func serve(checked bool) {
	s := &server{jobs: make(chan string, 1), done: make(chan bool)}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go s.work()
	go func() {
		<-ctx.Done()
		s.mu.Lock()
		s.stopped = true
		close(s.jobs)
		s.mu.Unlock()
	}()
	s.submit("a", checked)
	stop()
	<-s.done
}

func shutdown()      { serve(false) }
func shutdownFixed() { serve(true) }
