// Command server is an abstract SSH server, the peer of scpto/fixed: it speaks as much of SSH
// and SCP as it takes to receive a file, lets everybody in, and keeps nothing. It stands for a
// server of thousands of lines where only what the client does is of interest.
//
//	CGO_ENABLED=0 go build -o bin/scpto-server ./examples/scpto/server
package main

import (
	"bufio"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"

	"golang.org/x/crypto/ssh"
)

// maxFile bounds the size of a file that is received, in bytes.
const maxFile = 1 << 20

func main() {
	addr := flag.String("addr", "127.0.0.1:2222", "`address` to listen at")
	hostKey := flag.String("hostkey", "hostkey",
		"`file` with the private key of the server, as Dropbear writes it")
	flag.Parse()
	runtime.GOMAXPROCS(1) // few threads make a small checkpoint
	// It serves until something goes wrong.
	err := serve(*addr, *hostKey)
	fmt.Fprintln(os.Stderr, "scpto server:", err)
	os.Exit(1)
}

func serve(addr, hostKey string) error {
	key, err := readKey(hostKey)
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
			if err := session(conn, config); err != nil {
				fmt.Fprintf(os.Stderr, "scpto server: %s: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// readKey reads an Ed25519 key in the format of Dropbear: its type, and the private and the
// public half.
func readKey(name string) (ssh.Signer, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var key struct {
		Type   string
		Halves []byte
	}
	if err := ssh.Unmarshal(data, &key); err != nil || key.Type != ssh.KeyAlgoED25519 ||
		len(key.Halves) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("%s: not an Ed25519 key as Dropbear writes it", name)
	}
	return ssh.NewSignerFromKey(ed25519.PrivateKey(key.Halves))
}

// session serves one client until it leaves: its channels one after the other.
func session(conn net.Conn, config *ssh.ServerConfig) error {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			if err := offered.Reject(ssh.UnknownChannelType, "only sessions"); err != nil {
				return err
			}
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return err
		}
		if err := command(channel, requests); err != nil {
			return err
		}
	}
	return nil
}

// command carries out the one command of a session, "scp -t", and says how it has ended.
func command(channel ssh.Channel, requests <-chan *ssh.Request) error {
	defer channel.Close()
	for r := range requests {
		var exec struct{ Command string }
		known := r.Type == "exec" && ssh.Unmarshal(r.Payload, &exec) == nil &&
			strings.HasPrefix(exec.Command, "scp -t ")
		if err := r.Reply(known, nil); err != nil {
			return err
		}
		if !known {
			continue
		}
		go ssh.DiscardRequests(requests)
		var status struct{ Status uint32 }
		if err := receive(channel); err != nil {
			status.Status = 1
			fmt.Fprintf(channel, "\x02%v\n", err)
		}
		_, err := channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return err
	}
	return nil
}

// receive is the receiving side of SCP for one file, which is thrown away. Its error is meant
// for the client.
func receive(channel io.ReadWriter) error {
	acknowledge := func() error {
		_, err := channel.Write([]byte{0})
		return err
	}
	if err := acknowledge(); err != nil {
		return err
	}
	sent := bufio.NewReader(channel)
	header, err := sent.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no header: %w", err)
	}
	var mode, size int
	var name string
	if _, err := fmt.Sscanf(header, "C%o %d %s\n", &mode, &size, &name); err != nil || size < 0 ||
		size > maxFile {
		return fmt.Errorf("header %q: want C, the mode, a size up to %d, and a name", header, maxFile)
	}
	if err := acknowledge(); err != nil {
		return err
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(sent, content); err != nil {
		return fmt.Errorf("the content breaks off: %w", err)
	}
	if content[size] != 0 {
		return errors.New("the content does not end with a zero byte")
	}
	if err := acknowledge(); err != nil {
		return err
	}
	_, err = sent.ReadByte()
	if err != io.EOF {
		return errors.New("only one file is received")
	}
	return nil
}
