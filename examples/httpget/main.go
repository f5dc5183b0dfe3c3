// Command httpget fetches files from a web server, each in a goroutine and over a connection of
// its own. It is correct: whatever order the requests reach the server in, every file arrives.
// Checking it shows an exhaustive search that ends with the verdict "holds".
//
// By default a request is written and its answer read by the goroutine itself, with the message
// formats of net/http only. With -transport an http.Client does it, which brings two more
// goroutines per connection and many more schedules.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// maxBody bounds what is read of a file, in bytes.
const maxBody = 1 << 20

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` of the web server")
	n := flag.Int("n", 2, "`number` of files, fetched at the same time")
	transport := flag.Bool("transport", false, "use an http.Client")
	flag.Parse()
	if *n < 1 || *n > 100 {
		fmt.Fprintf(os.Stderr, "httpget: -n %d: want 1 to 100 files\n", *n)
		os.Exit(2)
	}
	get := getOnce
	if *transport {
		get = getByClient
	}
	if err := fetchAll(*addr, *n, get); err != nil {
		fmt.Fprintln(os.Stderr, "httpget:", err)
		os.Exit(1)
	}
}

// fetchAll gets file0.txt to file<n-1>.txt and checks what they contain.
func fetchAll(addr string, n int, get func(*http.Request) (string, error)) error {
	bodies := make([]string, n)
	failures := make([]error, n)
	var fetches sync.WaitGroup
	for i := range n {
		fetches.Go(func() {
			bodies[i], failures[i] = fetch(addr, i, get)
		})
	}
	fetches.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	for _, body := range bodies {
		fmt.Print(body)
	}
	return nil
}

func fetch(addr string, i int, get func(*http.Request) (string, error)) (string, error) {
	url := fmt.Sprintf("http://%s/file%d.txt", addr, i)
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Close = true // one file per connection
	body, err := get(request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	if want := fmt.Sprintf("This is file %d.\n", i); body != want {
		return "", fmt.Errorf("%s: got %q, want %q", url, body, want)
	}
	return body, nil
}

// getOnce sends the request over a new connection and reads the answer.
func getOnce(request *http.Request) (body string, err error) {
	conn, err := net.Dial("tcp", request.URL.Host)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var message bytes.Buffer
	if err := request.Write(&message); err != nil {
		return "", err
	}
	// Written by the program itself and not by net/http: goroutines are preempted where package
	// main writes, not where the standard library does.
	if _, err := conn.Write(message.Bytes()); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return "", err
	}
	return readBody(response)
}

// getByClient lets an http.Client of its own send the request.
func getByClient(request *http.Request) (string, error) {
	client := http.Client{Transport: &http.Transport{}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	return readBody(response)
}

func readBody(response *http.Response) (body string, err error) {
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %s", response.Status)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return string(content), err
}
