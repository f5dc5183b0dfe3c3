// Mysql takes from a stock with database/sql and github.com/go-sql-driver/mysql: two
// transactions read how much there is and store the rest, and more is sold than was there. With
// -fixed a transaction locks the row that it reads.
package main

import (
	"database/sql"
	"log"
	"sync"

	_ "github.com/go-sql-driver/mysql"

	"example.com/servers/flags"
)

func take(db *sql.DB, read string) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow(read).Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec("update stock set n = ? where id = 1", n-1); err != nil {
		return err
	}
	return tx.Commit()
}

func main() {
	read := "select n from stock where id = 1"
	if flags.Fixed() {
		read += " for update"
	}
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:3306)/test?interpolateParams=true")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"create table stock(id int primary key, n int) engine=innodb",
		"insert into stock values (1, 2)"} {
		if _, err := db.Exec(statement); err != nil {
			log.Fatal(err)
		}
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := take(db, read); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	var n int
	if err := db.QueryRow("select n from stock where id = 1").Scan(&n); err != nil || n != 0 {
		log.Fatalf("%d are left, want 0 (%v)", n, err)
	}
}
