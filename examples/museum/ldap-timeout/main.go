// Command ldap-timeout gives an LDAP server a while for a login, and longer for a search.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/go-ldap/ldap/v3"
)

func main() {
	conn, err := ldap.DialURL("ldap://127.0.0.1:1389")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	conn.SetTimeout(10 * time.Second)
	if err := conn.UnauthenticatedBind(""); err != nil {
		log.Print(err)
		return
	}
	conn.SetTimeout(time.Minute)
	found, err := conn.Search(&ldap.SearchRequest{
		Filter: "(objectClass=*)", Attributes: []string{"namingContexts"},
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(len(found.Entries), "entries")
}
