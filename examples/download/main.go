// Command download fetches a file from a web server in parts, each by a goroutine of its own and
// over a connection of its own, as download accelerators do: the first request asks for the
// size, the others for ranges.
//
// The parts are written to where they belong, in whatever order they arrive. With -seek a
// goroutine goes to the beginning of its part first and writes then; the others, which share the
// file and its offset, may move it in between.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// maxSize bounds the size of the file, in bytes.
const maxSize = 1 << 20

// sum is that of the file which the configuration of the example has the server offer.
const sum = "20ee4cb384279bd9f6fee0dcb56386affaf133088c10a9d8c60e5e2353556759"

func main() {
	url := flag.String("url", "http://127.0.0.1:8080/file.txt", "`address` of the file")
	want := flag.String("sha256", sum, "`sum` of the file, in hexadecimal digits")
	output := flag.String("o", "download.txt", "`file` to write")
	threads := flag.Int("threads", 2, "`number` of parts, fetched at the same time")
	seek := flag.Bool("seek", false, "go to a part and write it in two steps")
	flag.Parse()
	if *threads < 1 || *threads > 100 {
		fmt.Fprintf(os.Stderr, "download: -threads %d: want 1 to 100\n", *threads)
		os.Exit(2)
	}
	write := writeAt
	if *seek {
		write = seekAndWrite
	}
	if err := download(*url, *output, *want, *threads, write); err != nil {
		fmt.Fprintln(os.Stderr, "download:", err)
		os.Exit(1)
	}
}

// download fetches a file in parts and checks its sum.
func download(url, output, want string, parts int, write func(*os.File, []byte, int64) error) (err error) {
	size, err := sizeOf(url)
	if err != nil {
		return err
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	failures := make([]error, parts)
	var fetches sync.WaitGroup
	for i := range parts {
		from, to := size*int64(i)/int64(parts), size*int64(i+1)/int64(parts)
		if from == to {
			continue // more parts than bytes
		}
		fetches.Go(func() {
			part, err := fetch(url, from, to)
			if err == nil {
				err = write(file, part, from)
			}
			failures[i] = err
		})
	}
	fetches.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	content, err := io.ReadAll(io.NewSectionReader(file, 0, maxSize))
	if err != nil {
		return err
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != want {
		return fmt.Errorf("%s: what was written is not the file: %q", output, content)
	}
	fmt.Printf("%s: %d bytes in %d parts\n", output, size, parts)
	return nil
}

func writeAt(file *os.File, part []byte, from int64) error {
	_, err := file.WriteAt(part, from)
	return err
}

func seekAndWrite(file *os.File, part []byte, from int64) error {
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	_, err := file.Write(part)
	return err
}

// sizeOf asks for the size of a file, in bytes.
func sizeOf(url string) (int64, error) {
	request, err := http.NewRequest(http.MethodHead, url, nil)
	if err != nil {
		return 0, err
	}
	response, _, err := ask(request)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK || response.ContentLength < 0 ||
		response.ContentLength > maxSize {
		return 0, fmt.Errorf("%s: the server answered %s, %d bytes; want at most %d", url, response.Status,
			response.ContentLength, maxSize)
	}
	return response.ContentLength, nil
}

// fetch gets the bytes from (included) to (not included) of a file.
func fetch(url string, from, to int64) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	response, part, err := ask(request)
	if err != nil {
		return nil, err
	}
	// all of it is no part
	ok := response.StatusCode == http.StatusPartialContent || response.StatusCode == http.StatusOK
	if !ok || int64(len(part)) != to-from {
		return nil, fmt.Errorf("%s: the server answered %s and %d bytes; want those from %d up to %d", url,
			response.Status, len(part), from, to)
	}
	return part, nil
}

// ask sends a request over a new connection and reads the answer.
func ask(request *http.Request) (response *http.Response, body []byte, err error) {
	conn, err := net.Dial("tcp", request.URL.Host)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	request.Close = true // one request per connection
	var message bytes.Buffer
	if err := request.Write(&message); err != nil {
		return nil, nil, err
	}
	// Written by the program itself and not by net/http: goroutines are preempted where package
	// main writes, not where the standard library does.
	if _, err := conn.Write(message.Bytes()); err != nil {
		return nil, nil, err
	}
	if response, err = http.ReadResponse(bufio.NewReader(conn), request); err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxSize))
	return response, body, err
}
