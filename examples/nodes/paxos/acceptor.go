package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// none stands for a value where there is none.
const none = "-"

// state is what an acceptor must not forget: the last ballot that it has agreed to, and the last
// one in which it has accepted a value.
type state struct {
	promised, accepted int
	value              string
}

// String is the form in which a state is sent and stored.
func (s state) String() string { return fmt.Sprint(s.promised, " ", s.accepted, " ", s.value) }

// parse is the inverse of String.
func parse(text string) (s state, err error) {
	_, err = fmt.Sscan(text, &s.promised, &s.accepted, &s.value)
	return s, err
}

// answer answers a request with the state after it. The acceptor agrees to a ballot, and promises
// to refuse earlier ones, unless it has promised to refuse this one.
func (n *node) answer(request string) state {
	n.mu.Lock()
	defer n.mu.Unlock()
	var kind, value string
	var ballot int
	if _, err := fmt.Sscan(request, &kind, &ballot, &value); err != nil {
		return state{}
	}
	switch {
	case kind == "prepare" && ballot > n.state.promised:
		n.store(state{ballot, n.state.accepted, n.state.value})
	case kind == "accept" && (ballot >= n.state.promised || n.fault == "promise"):
		n.store(state{ballot, ballot, value})
	case kind == "decided":
		n.learn(value)
	}
	return n.state
}

// learn notes what was decided. All nodes have to learn the same.
func (n *node) learn(value string) {
	if n.decided != "" && n.decided != value {
		panic(fmt.Sprintf("%s was decided, and now %s is", n.decided, value))
	}
	n.decided = value
}

// load reads the state that the acceptor had before the node was started again.
func (n *node) load() error {
	n.state = state{value: none}
	if n.file == "" {
		return nil
	}
	text, err := os.ReadFile(n.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil {
		n.state, err = parse(string(text))
	}
	return err
}

// store replaces the state. With the file it is durable before anybody is told of it.
func (n *node) store(s state) {
	if n.state = s; n.file == "" {
		return
	}
	if err := replace(n.file, s.String(), n.fault != "sync"); err != nil {
		panic(err) // a crash is better than a promise that may be forgotten
	}
}

// replace gives a file another content. A crash leaves the old one or the new one.
func replace(path, text string, durable bool) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if durable {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil || !durable {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
