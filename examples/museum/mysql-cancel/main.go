// Command mysql-cancel asks a MySQL server for something, and cancels the request.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:3306)/test")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	fmt.Println(one, err)
}
