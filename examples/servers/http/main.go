// Http fetches pages with net/http, each once: whether one is there and noting that it will be
// are two critical sections, and it is fetched twice. With -fixed they are one.
package main

import (
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"flag"
	"io"
	"log"
	"net/http"
	"sync"

	"example.com/servers/flags"
)

// The certificate of the profiles apache-tls and nginx-tls, which has signed itself.
//
//go:embed certificate.pem
var certificate []byte

type cache struct {
	lock    sync.Mutex
	pages   map[string]string
	fetched int
	atOnce  bool
}

func (c *cache) get(client *http.Client, url string) error {
	c.lock.Lock()
	_, there := c.pages[url]
	if !c.atOnce {
		c.lock.Unlock()
	} else {
		defer c.lock.Unlock()
	}
	if there {
		return nil
	}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if !c.atOnce {
		c.lock.Lock()
		defer c.lock.Unlock()
	}
	c.pages[url] = string(text)
	c.fetched++
	return err
}

func main() {
	site := flag.String("site", "http://127.0.0.1:8080", "where the pages are")
	c := &cache{pages: map[string]string{}, atOnce: flags.Fixed()}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := c.get(client, *site+"/index.html"); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	if c.fetched != 1 || len(c.pages[*site+"/index.html"]) == 0 {
		log.Fatalf("fetched %d times: %q", c.fetched, c.pages)
	}
}
