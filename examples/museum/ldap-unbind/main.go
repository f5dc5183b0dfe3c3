// Command ldap-unbind asks an LDAP server what it has, and takes its leave.
package main

import (
	"fmt"
	"log"

	"github.com/go-ldap/ldap/v3"
)

func main() {
	conn, err := ldap.DialURL("ldap://127.0.0.1:1389")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := conn.UnauthenticatedBind(""); err != nil {
		log.Fatal(err)
	}
	found, err := conn.Search(&ldap.SearchRequest{
		Filter: "(objectClass=*)", Attributes: []string{"namingContexts"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.Entries), "entries")
	if err := conn.Unbind(); err != nil {
		log.Fatal(err)
	}
}
