// Command ssh-server serves one session over SSH, and says when its client has gone.
package main

import (
	"fmt"
	"log"
	"net"

	"github.com/gliderlabs/ssh"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:2222")
	if err != nil {
		log.Fatal(err)
	}
	gone := make(chan string)
	server := &ssh.Server{
		Handler: func(s ssh.Session) { fmt.Fprintln(s, "Hello,", s.User()) },
		PublicKeyHandler: func(ctx ssh.Context, _ ssh.PublicKey) bool {
			user := ctx.User()
			go func() {
				<-ctx.Done()
				gone <- user
			}()
			return true
		},
	}
	go server.Serve(listener)
	fmt.Println(<-gone, "has gone")
	server.Close()
}
