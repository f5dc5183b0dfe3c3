// Command sshd is an SSH server of golang.org/x/crypto/ssh, whose only command greets. The
// goroutine that carries it out says that it is done before it says how it has ended, so that
// the client may be told of a failure that there was not. With -ordered it does so in the right
// order.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:2222", "`address` to listen at")
	ordered := flag.Bool("ordered", false, "note how a command has ended before it is done")
	flag.Parse()
	// It serves until something goes wrong.
	err := serve(*addr, *ordered)
	log.Fatal(err)
}

func serve(addr string, ordered bool) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(key)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			if err := session(conn, config, ordered); err != nil {
				log.Print(err)
			}
		}()
	}
}

// session serves one client.
func session(conn net.Conn, config *ssh.ServerConfig, ordered bool) error {
	defer conn.Close()
	client, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return err
		}
		go func() {
			for r := range requests {
				r.Reply(r.Type == "exec", nil)
				if r.Type == "exec" {
					go run(channel, client.User(), ordered)
				}
			}
		}()
	}
	return nil
}

// command is what a client has asked for.
type command struct {
	done   chan bool // closed when it is done
	mu     sync.Mutex
	status uint32
}

func (c *command) end(status uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

func (c *command) exitStatus() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ssh.Marshal(struct{ Status uint32 }{c.status})
}

// run greets a user, and tells how that has ended.
func run(channel ssh.Channel, user string, ordered bool) {
	c := &command{done: make(chan bool), status: 1}
	go func() {
		fmt.Fprintf(channel, "hello %s\n", user)
		if ordered {
			c.end(0)
			close(c.done)
		} else {
			close(c.done)
			c.end(0)
		}
	}()
	<-c.done
	channel.SendRequest("exit-status", false, c.exitStatus())
	channel.Close()
}
