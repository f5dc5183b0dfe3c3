// Pgx pays into an account with github.com/jackc/pgx/v5: two transactions read the balance and
// store what it becomes, and a payment can be lost. With -fixed a transaction locks the row that
// it reads.
package main

import (
	"context"
	"log"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/servers/flags"
)

func main() {
	read := "select balance from account where id = 1"
	if flags.Fixed() {
		read += " for update"
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://postgres@127.0.0.1:5432/test?sslmode=disable&pool_max_conns=2")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "create table account(id int primary key, balance int); insert into "+
		"account values (1, 0)"); err != nil {
		log.Fatal(err)
	}
	pay := func(amount int) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		var balance int
		if err := tx.QueryRow(ctx, read).Scan(&balance); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "update account set balance = $1 where id = 1",
			balance+amount); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := pay(5); err != nil {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	var balance int
	if err := pool.QueryRow(ctx, "select balance from account where id = 1").Scan(&balance); err != nil ||
		balance != 10 {
		log.Fatalf("the balance is %d, want 10 (%v)", balance, err)
	}
}
