// Pq registers a name with database/sql and github.com/lib/pq: two requests see that it is free,
// and both take it. With -fixed the table has a unique index, and the second request is told so.
package main

import (
	"database/sql"
	"errors"
	"log"
	"sync"

	"github.com/lib/pq"

	"example.com/servers/flags"
)

func main() {
	table := "create table people(id serial, name text)"
	if flags.Fixed() {
		table = "create table people(id serial, name text unique)"
	}
	db, err := sql.Open("postgres", "host=127.0.0.1 port=5432 user=postgres dbname=test sslmode=disable")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(table); err != nil {
		log.Fatal(err)
	}
	register := func(name string) error {
		var n int
		if err := db.QueryRow("select count(*) from people where name = $1", name).Scan(&n); err != nil ||
			n > 0 {
			return err
		}
		_, err := db.Exec("insert into people(name) values ($1)", name)
		var taken *pq.Error
		if errors.As(err, &taken) && taken.Code.Name() == "unique_violation" {
			return nil
		}
		return err
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := register("anne"); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	var n int
	if err := db.QueryRow("select count(*) from people where name = 'anne'").Scan(&n); err != nil || n != 1 {
		log.Fatalf("%d people have the name (%v)", n, err)
	}
}
