// Sftp takes numbers from a file of OpenSSH's server with github.com/pkg/sftp: two goroutines
// can take the same. With -fixed they take turns.
package main

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"example.com/libraries/flags"
)

func main() {
	fixed := flags.Fixed()
	client, err := dial()
	if err != nil {
		panic(err)
	}
	var both sync.WaitGroup
	var turn sync.Mutex
	taken := make([]byte, 2)
	for i := range taken {
		both.Go(func() {
			if fixed {
				turn.Lock()
				defer turn.Unlock()
			}
			n, err := take(client)
			if err != nil {
				panic(err)
			}
			taken[i] = n
		})
	}
	both.Wait()
	if taken[0] == taken[1] {
		fmt.Fprintf(os.Stderr, "both have taken %d\n", taken[0])
		os.Exit(1)
	}
}

// dial logs in with a key that anybody can make, and that opens nothing but the server of
// tandem.yaml.
func dial() (*sftp.Client, error) {
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		return nil, err
	}
	conn, err := ssh.Dial("tcp", "127.0.0.1:2222", &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		return nil, err
	}
	return sftp.NewClient(conn)
}

// take reads the number in the file, and leaves the next one there.
func take(client *sftp.Client) (byte, error) {
	file, err := client.OpenFile("/root/number", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	number := make([]byte, 1)
	if _, err := file.ReadAt(number, 0); err != nil {
		return 0, err
	}
	_, err = file.WriteAt([]byte{number[0] + 1}, 0)
	return number[0], err
}
