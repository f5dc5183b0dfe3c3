// Ping asks an SSH server whether it is still there, until its connection is closed, which
// another goroutine does. It is made with golang.org/x/crypto/ssh v0.52.0. There, a request that
// was made after the end of the connection never returned: it first took all early answers from
// a channel, and that channel was closed, so that it never ran out of them (golang/go#79717).
// With fixed.mod it is v0.53.0, where that is mended.
package main

import (
	"fmt"
	"os"

	"golang.org/x/crypto/ssh"
)

func main() {
	if err := run("../../scpto/scp/testdata/throwaway_user_key"); err != nil {
		fmt.Fprintln(os.Stderr, "ping:", err)
		os.Exit(2)
	}
}

func run(key string) error {
	text, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return err
	}
	client, err := ssh.Dial("tcp", "127.0.0.1:2222", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   ssh.InsecureIgnoreHostKey(), // it is a server of a test
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		return err
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for {
			if _, _, err := client.SendRequest("keepalive@openssh.com", true, nil); err != nil {
				return
			}
		}
	}()
	client.Close()
	<-ended
	return nil
}
