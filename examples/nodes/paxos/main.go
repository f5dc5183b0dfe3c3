// Command paxos is a node of a cluster that decides on one value (Lamport: Paxos made simple,
// 2001). Each node is an acceptor, and a learner. With -propose it is a proposer, too. A node that
// learns of two different decisions panics. With -fault it has a known mistake.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience is how long a proposer waits for an answer.
const patience = time.Second

// node is this node. Its goroutines are the servers of connections, the proposer, and those that
// ask the peers.
type node struct {
	id      int
	ballots int
	fault   string
	file    string
	peers   []*peer

	mu      sync.Mutex
	state   state
	decided string // empty: nothing that this node knows
}

func main() {
	n := &node{}
	nodes := flag.String("nodes", "127.0.0.1:7601,127.0.0.1:7602,127.0.0.1:7603", "`addresses` of all nodes")
	value := flag.String("propose", "", "the `value` that this node proposes")
	flag.IntVar(&n.id, "id", 0, "the `number` of this node, as an index of -nodes")
	flag.IntVar(&n.ballots, "ballots", 0, "give up after this `number` of ballots; 0: never")
	flag.StringVar(&n.file, "file", "", "keep the state of the acceptor in this `file`, not in memory")
	flag.StringVar(&n.fault, "fault", "", "a `mistake`: promise (the acceptor forgets its promise), first "+
		"(the proposer takes the first value that was accepted, not the last), sync (the file is not "+
		"durable)")
	flag.Parse()
	if err := n.load(); err != nil {
		panic(err)
	}
	addresses := strings.Split(*nodes, ",")
	l, err := net.Listen("tcp", addresses[n.id])
	if err != nil {
		panic(err)
	}
	for _, a := range slices.Delete(addresses, n.id, n.id+1) {
		n.peers = append(n.peers, &peer{address: a})
	}
	if *value != "" {
		go n.propose(*value)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go n.serve(conn)
	}
}

// serve answers the requests of a connection.
func (n *node) serve(conn net.Conn) {
	defer conn.Close()
	for requests := bufio.NewScanner(conn); requests.Scan(); {
		if _, err := fmt.Fprintln(conn, n.answer(requests.Text())); err != nil {
			return
		}
	}
}

// propose has the cluster decide, if possible on this value.
func (n *node) propose(value string) {
	for made := 1; !n.ballot(value) && made != n.ballots; made++ {
		time.Sleep(time.Second + rand.N(time.Second)) // another proposer may come to an end
	}
}

// ballot is one attempt. It says whether there is a decision.
func (n *node) ballot(value string) bool {
	n.mu.Lock()
	size := len(n.peers) + 1
	number := (n.state.promised/size+1)*size + n.id // no other ballot has it
	decided := n.decided != ""
	n.mu.Unlock()
	if decided {
		return true
	}

	promises := n.poll(number, fmt.Sprintln("prepare", number, none))
	if promises == nil {
		return false
	}
	var last state // the promise with the last value that was accepted
	for _, s := range promises {
		if s.accepted > last.accepted && (n.fault != "first" || last.accepted == 0) {
			last = s
		}
	}
	if last.accepted > 0 {
		value = last.value // it may have been decided
	}
	if n.poll(number, fmt.Sprintln("accept", number, value)) == nil {
		return false
	}
	n.poll(number, fmt.Sprintln("decided", number, value))
	return true
}

// poll asks all acceptors, and returns the answers of those that agree to the ballot as soon as
// they are the majority, or nil.
func (n *node) poll(ballot int, request string) (agreed []state) {
	answers := make(chan state, len(n.peers)+1)
	// Its own promise is the first one, so that it never uses the number again, even after a crash.
	answers <- n.answer(request)
	for _, p := range n.peers {
		go func() { answers <- p.ask(request) }()
	}
	for range cap(answers) {
		if s := <-answers; s.promised == ballot {
			agreed = append(agreed, s)
		}
		if len(agreed) > cap(answers)/2 {
			return agreed
		}
	}
	return nil
}

// peer is another node, as the proposer sees it.
type peer struct {
	address string

	mu      sync.Mutex // held while the peer is asked
	conn    net.Conn   // nil: not connected
	answers *bufio.Scanner
}

// ask sends a request to the peer, and returns its answer, or an empty one if there is none.
func (p *peer) ask(request string) state {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			return state{}
		}
		p.conn, p.answers = conn, bufio.NewScanner(conn)
	}
	p.conn.SetDeadline(time.Now().Add(patience))
	if _, err := p.conn.Write([]byte(request)); err == nil && p.answers.Scan() {
		if s, err := parse(p.answers.Text()); err == nil {
			return s
		}
	}
	p.conn.Close()
	p.conn = nil
	return state{}
}
