// Command ssh-keepalive runs a command on an SSH server, and meanwhile asks whether it is there.
package main

import (
	"fmt"
	"log"

	"golang.org/x/crypto/ssh"
)

func main() {
	client, err := ssh.Dial("tcp", "127.0.0.1:2222", &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.Password("tandem")},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	alive := make(chan error)
	go func() {
		_, err := session.SendRequest("keepalive@openssh.com", true, nil)
		alive <- err
	}()
	if err := session.Run("true"); err != nil {
		log.Print(err)
	}
	fmt.Println("alive:", <-alive)
}
