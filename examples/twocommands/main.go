// Command twocommands runs two commands on an SSH server over one connection, at the same time, as
// a deployment tool would. There is nothing wrong with it: the protocol allows it, and OpenSSH
// serves it.
//
// Dropbear 2022.83, which is in Debian 12, dies of it: an assertion in its code for channels fails
// in the process that serves the connection. When the first command has ended, Dropbear closes the
// channel of the second one, too, if that has no command yet; and when that comes, it answers on a
// channel that it has closed. Upstream has it as issues 258 and 321 of mkj/dropbear. In the report,
// the death of the peer is the headline.
//
// With -in-turn, the second command begins when the first one has ended, and all goes well.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/tandem-mc/tandem/examples/scpto/scp"
)

func main() {
	inTurn := flag.Bool("in-turn", false, "run the second command after the first one")
	flag.Parse()
	conn, err := scp.Dial("127.0.0.1:2222")
	if err != nil {
		fmt.Fprintln(os.Stderr, "twocommands:", err)
		os.Exit(1)
	}
	var commands sync.WaitGroup
	failed := make([]error, 2)
	for i, command := range []string{"true", "echo done"} {
		commands.Go(func() { failed[i] = run(conn, command) })
		if *inTurn {
			commands.Wait()
		}
	}
	commands.Wait()
	for _, err := range failed {
		if err != nil {
			fmt.Fprintln(os.Stderr, "twocommands:", err)
			os.Exit(1)
		}
	}
}

// run runs one command in a session of its own, and waits for its end.
func run(conn ssh.Conn, command string) error {
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		return fmt.Errorf("%s: open a session: %w", command, err)
	}
	defer channel.Close()
	asked := ssh.Marshal(struct{ Command string }{command})
	if _, err := channel.SendRequest("exec", true, asked); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	for request := range requests { // until the server closes the channel
		if request.Type == "exit-status" {
			return nil
		}
	}
	return fmt.Errorf("%s: the server said nothing of how it ended", command)
}
