// Ldap gives numbers to users with github.com/go-ldap/ldap/v3: two goroutines read the next
// number, and give it to both. With -fixed the new number takes the place of the old one only
// while that is still there.
package main

import (
	"log"
	"strconv"
	"sync"

	"github.com/go-ldap/ldap/v3"

	"example.com/servers/flags"
)

const base = "dc=example,dc=test"

func next(conn *ldap.Conn, fixed bool) (int, error) {
	for {
		found, err := conn.Search(ldap.NewSearchRequest(base, ldap.ScopeBaseObject, ldap.NeverDerefAliases,
			0, 0, false, "(objectClass=*)", []string{"description"}, nil))
		if err != nil {
			return 0, err
		}
		text := found.Entries[0].GetAttributeValue("description")
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, err
		}
		change := ldap.NewModifyRequest(base, nil)
		if fixed {
			change.Delete("description", []string{text})
			change.Add("description", []string{strconv.Itoa(n + 1)})
		} else {
			change.Replace("description", []string{strconv.Itoa(n + 1)})
		}
		if err := conn.Modify(change); !ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchAttribute) {
			return n, err
		}
	}
}

func main() {
	fixed := flags.Fixed()
	conn, err := ldap.DialURL("ldap://127.0.0.1:1389")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Bind("cn=admin,"+base, "admin"); err != nil {
		log.Fatal(err)
	}
	first := ldap.NewModifyRequest(base, nil)
	first.Replace("description", []string{"1000"})
	if err := conn.Modify(first); err != nil {
		log.Fatal(err)
	}
	given := make([]int, 2)
	var both sync.WaitGroup
	for i := range given {
		both.Go(func() {
			n, err := next(conn, fixed)
			if err != nil {
				log.Fatal(err)
			}
			given[i] = n
		})
	}
	both.Wait()
	if given[0] == given[1] {
		log.Fatalf("both have %d", given[0])
	}
}
