// Command encrypted speaks protocols in which every byte hangs on random numbers:
// SSH in four sessions at once, and HTTPS. The first argument says which.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/tandem-mc/tandem/examples/scpto/scp"
)

func main() {
	var err error
	switch os.Args[1] {
	case "ssh":
		err = parallel(4, session)
	case "http/1.1":
		err = fetch(false)
	case "http/2":
		err = fetch(true)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// parallel does something n times at once.
func parallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// session runs a command on the server.
func session(i int) error {
	conn, err := scp.Dial("127.0.0.1:2222")
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, requests, err := conn.OpenChannel("session", nil)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	command := fmt.Sprintf("echo this is session %d", i)
	if _, err := channel.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{command})); err != nil {
		return err
	}
	answer, err := io.ReadAll(channel)
	if want := fmt.Sprintf("this is session %d\n", i); err == nil && string(answer) != want {
		err = fmt.Errorf("the server said %q, want %q", answer, want)
	}
	return err
}

// fetch gets a few pages at once, by one client with its pool of connections.
func fetch(http2 bool) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(os.Getenv("CERTIFICATE")))
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: &protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	return parallel(3, func(i int) error {
		path := fmt.Sprintf("/page/%d", i)
		answer, err := client.Post("https://127.0.0.1:8443"+path, "text/plain", strings.NewReader("please"))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if want := answer.Proto + " " + path + " please"; err == nil && string(body) != want {
			err = fmt.Errorf("the server said %q, want %q", body, want)
		}
		if http2 != (answer.ProtoMajor == 2) {
			err = fmt.Errorf("the answer came by %s", answer.Proto)
		}
		return err
	})
}
