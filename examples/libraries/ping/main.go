// Ping asks an SSH server whether it is still there, with golang.org/x/crypto/ssh v0.52.0, until its connection is closed,
// which another goroutine does. A request that began after the connection had ended never did: it threw away answers that
// had come too early, one after the other, and a channel that is closed gives as many as one likes (golang/go#79717). With
// fixed.mod it is v0.53.0, where that is mended.
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
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
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
