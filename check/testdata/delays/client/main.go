// Command client asks a server that answers late. Each argument is what one goroutine does, on a connection of its own: a
// list of requests, such as "p120 n30", that it makes one after the other.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	deadline := flag.Duration("deadline", 0, "of each answer")
	order := flag.Bool("order", false, "print in which order the answers have come")
	flag.Parse()
	var mu sync.Mutex
	var answers []string
	var all sync.WaitGroup
	for i, script := range flag.Args() {
		c, err := net.Dial("tcp", "127.0.0.1:7000")
		if err != nil {
			panic(err)
		}
		all.Go(func() {
			r := bufio.NewReader(c)
			for k, request := range strings.Fields(script) {
				fmt.Fprintf(c, "%s %d.%d\n", request, i, k)
				if *deadline > 0 {
					c.SetReadDeadline(time.Now().Add(*deadline))
				}
				answer, err := r.ReadString('\n')
				if errors.Is(err, os.ErrDeadlineExceeded) {
					answer = fmt.Sprintf("%d late\n", i)
				} else if err != nil {
					panic(err)
				}
				mu.Lock()
				answers = append(answers, strings.TrimSpace(answer))
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	if !*order {
		slices.Sort(answers)
	}
	fmt.Println(answers)
}
