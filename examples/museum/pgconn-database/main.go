// Command pgconn-database connects to a database that does not exist.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgconn"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:5432/museum?sslmode=disable")
	fmt.Println(err)
}
