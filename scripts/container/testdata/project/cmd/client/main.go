// Command client gets a page in two goroutines, for the tests of jobs of continuous integration.
package main

import (
	"log"
	"net/http"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			response, err := http.Get("http://127.0.0.1:8080/")
			if err != nil {
				log.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				log.Fatal(response.Status)
			}
		})
	}
	wg.Wait()
}
