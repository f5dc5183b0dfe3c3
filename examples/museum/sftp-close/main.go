// Command sftp-close asks an SFTP server for the size of a file, and closes the connection.
package main

import (
	"fmt"
	"log"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func main() {
	conn, err := ssh.Dial("tcp", "127.0.0.1:2222", &ssh.ClientConfig{
		User:            "root",
		Auth:            []ssh.AuthMethod{ssh.Password("tandem")},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer conn.Close()
	client, err := sftp.NewClient(conn)
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()
	file, err := client.Stat("/etc/passwd")
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(file.Size() > 0)
}
