// Command dns-context asks a name server for two names at the same time.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/miekg/dns"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := &dns.Client{Net: "tcp"}
	var questions sync.WaitGroup
	for _, name := range []string{"a.example.test.", "b.example.test."} {
		questions.Go(func() {
			question := new(dns.Msg).SetQuestion(name, dns.TypeA)
			question.Id = 1
			answer, _, err := client.ExchangeContext(ctx, question, "127.0.0.1:5353")
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(answer.Answer)
		})
	}
	questions.Wait()
}
