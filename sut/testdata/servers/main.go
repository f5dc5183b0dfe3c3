// Command servers runs servers and their clients in one program: HTTP, HTTP over
// TLS (versions 1.1 and 2), and SSH. It prints what the clients got.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

var scenarios = map[string]func(){"http": plain, "https": secure, "ssh": shell}

func main() {
	for _, name := range os.Args[1:] {
		scenarios[name]()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

var handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	check(err)
	fmt.Fprintf(w, "%s %s %s %d", r.Proto, r.Method, r.URL.Path, len(body))
})

// get asks in parallel, and prints the answers in order.
func get(client *http.Client, url string) {
	answers := make([]string, 4)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			response, err := client.Post(fmt.Sprint(url, "/", i), "text/plain", strings.NewReader(strings.Repeat("x", i*100_000)))
			check(err)
			body, err := io.ReadAll(response.Body)
			check(err)
			response.Body.Close()
			answers[i] = response.Status + " " + string(body)
		})
	}
	wait.Wait()
	sort.Strings(answers)
	fmt.Println(strings.Join(answers, "\n"))
}

func plain() {
	server := httptest.NewServer(handler)
	defer server.Close()
	get(server.Client(), server.URL)
}

func secure() {
	for _, two := range []bool{false, true} {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = two
		server.StartTLS()
		get(server.Client(), server.URL)
		connection, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		check(err)
		fmt.Println(tls.VersionName(connection.ConnectionState().Version))
		connection.Close()
		server.Close()
	}
}

// shell has a server that answers every exec request with its command, in capitals.
func shell() {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	signer, err := ssh.NewSignerFromKey(private)
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer listener.Close()
	go serveShell(listener, signer)
	client, err := ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{
		User: "user", Auth: []ssh.AuthMethod{ssh.Password("secret")}, HostKeyCallback: ssh.FixedHostKey(signer.PublicKey()),
	})
	check(err)
	for _, command := range []string{"one", "two"} {
		session, err := client.NewSession()
		check(err)
		out, err := session.Output(command)
		check(err)
		fmt.Println(string(out))
	}
	check(client.Close())
}

func serveShell(listener net.Listener, signer ssh.Signer) {
	config := &ssh.ServerConfig{PasswordCallback: func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
		if string(password) != "secret" {
			return nil, fmt.Errorf("wrong password")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	c, err := listener.Accept()
	check(err)
	_, channels, requests, err := ssh.NewServerConn(c, config)
	check(err)
	go ssh.DiscardRequests(requests)
	for n := range channels {
		channel, requests, err := n.Accept()
		check(err)
		go func() {
			for r := range requests {
				r.Reply(r.Type == "exec", nil)
				fmt.Fprint(channel, strings.ToUpper(string(r.Payload[4:])))
				channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
				channel.Close()
			}
		}()
	}
}
