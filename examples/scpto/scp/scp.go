// Package scp speaks the sending side of the SCP protocol over golang.org/x/crypto/ssh: what both
// variants of the scpto example have in common. It starts no goroutine of its own.
//
// The protocol has no specification; it is what "scp -t" of OpenSSH understands: the sender waits
// for an acknowledgement, sends a header "C<mode> <size> <name>\n", waits, sends the content and a
// zero byte, and waits again.
package scp

import (
	"bufio"
	_ "embed" // the keys are part of the program, so that it runs in any directory
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
)

// The keys of the example are public by intention: they open nothing but a Dropbear that runs for
// the length of one check.
var (
	//go:embed testdata/throwaway_user_key
	userKey []byte
	//go:embed testdata/throwaway_host_key.pub
	hostKey []byte
)

// Dial connects to the SSH server at addr, accepts only the example's host key and logs in as root
// with the example's user key.
//
// Neither the server's global requests nor the channels it opens are looked at: a server that only
// receives a file sends none, and x/crypto/ssh keeps the first sixteen of each.
func Dial(addr string) (ssh.Conn, error) {
	config, err := clientConfig()
	if err != nil {
		return nil, err
	}
	tcp, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	conn, _, _, err := ssh.NewClientConn(tcp, addr, config)
	if err != nil {
		return nil, fmt.Errorf("log in at %s: %w", addr, err)
	}
	return conn, nil
}

func clientConfig() (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey(userKey)
	if err != nil {
		return nil, fmt.Errorf("the example's user key: %w", err)
	}
	server, _, _, _, err := ssh.ParseAuthorizedKey(hostKey)
	if err != nil {
		return nil, fmt.Errorf("the example's host key: %w", err)
	}
	return &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(server),
		// Without this, Dropbear 2022.83 can agree on an algorithm for which it has no key.
		HostKeyAlgorithms: []string{server.Type()},
	}, nil
}

// Send copies content to the file called name in the home directory of the server's user, over a
// session channel on which nothing has run yet. When it returns, the server has acknowledged the
// whole file and has been told that nothing follows, so that it is about to end the channel.
func Send(channel ssh.Channel, name string, content []byte) error {
	command := ssh.Marshal(struct{ Command string }{"scp -t " + name})
	accepted, err := channel.SendRequest("exec", true, command)
	if err != nil {
		return fmt.Errorf("start scp on the server: %w", err)
	}
	if !accepted {
		return errors.New("the server refused to start scp")
	}
	answers := bufio.NewReader(channel)
	if err := awaitAck(answers, "start"); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(channel, "C0644 %d %s\n", len(content), name); err != nil {
		return fmt.Errorf("send the header: %w", err)
	}
	if err := awaitAck(answers, "header"); err != nil {
		return err
	}
	if _, err := channel.Write(append(content[:len(content):len(content)], 0)); err != nil {
		return fmt.Errorf("send the content: %w", err)
	}
	if err := awaitAck(answers, "content"); err != nil {
		return err
	}
	return channel.CloseWrite()
}

// awaitAck reads the acknowledgement of the given phase: a zero byte, or a one (warning) or a two
// (error) and a line of text.
func awaitAck(answers *bufio.Reader, phase string) error {
	code, err := answers.ReadByte()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err != nil:
		return fmt.Errorf("no acknowledgement of the %s: %w", phase, err)
	case code == 0:
		return nil
	case code > 2:
		return fmt.Errorf("acknowledgement of the %s: byte %d, want 0, 1 or 2", phase, code)
	}
	text, err := answers.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server refused the %s, with a text that breaks off: %q", phase, text)
	}
	return fmt.Errorf("the server refused the %s: %s", phase, text[:len(text)-1])
}

// HangUp closes the connection, if x/crypto/ssh has not done so already, as it does when it can
// read no more.
func HangUp(conn ssh.Conn) error {
	if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
