// Command client has an SSH server carry out a command, and minds what becomes of it.
package main

import (
	"golang.org/x/crypto/ssh"
)

func main() {
	client, err := ssh.Dial("tcp", "127.0.0.1:2222", &ssh.ClientConfig{User: "somebody",
		HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		panic(err)
	}
	if out, err := session.Output("greet"); err != nil {
		panic("the server says " + string(out) + ": " + err.Error())
	}
}
