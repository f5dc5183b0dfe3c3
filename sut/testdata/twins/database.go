package main

import (
	"database/sql"
	"database/sql/driver"
	"io"
	"sync/atomic"
)

// memory is a driver for a database that knows how often it was asked.
type memory struct{ asked atomic.Int64 }

type connected struct{ *memory }

type asking struct{ *memory }

type row struct{ n, left int64 }

func (m *memory) Open(string) (driver.Conn, error)      { return connected{m}, nil }
func (c connected) Prepare(string) (driver.Stmt, error) { return asking(c), nil }
func (c connected) Close() error                        { return nil }
func (c connected) Begin() (driver.Tx, error)           { return c, nil }
func (c connected) Commit() error                       { return nil }
func (c connected) Rollback() error                     { return nil }
func (a asking) Close() error                           { return nil }
func (a asking) NumInput() int                          { return 0 }
func (a asking) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(a.asked.Add(1)), nil
}
func (a asking) Query([]driver.Value) (driver.Rows, error) { return &row{a.asked.Add(1), 1}, nil }
func (r *row) Columns() []string                           { return []string{"n"} }
func (r *row) Close() error                                { return nil }
func (r *row) Next(to []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	r.left--
	to[0] = r.n
	return nil
}

var drivers atomic.Int64

func database() func() {
	name := "memory" + string(rune('a'+drivers.Add(1)))
	sql.Register(name, &memory{})
	db := must(sql.Open(name, ""))
	db.SetMaxOpenConns(2)
	return func() {
		tx := must(db.Begin())
		must(tx.Exec("insert"))
		check(tx.Commit())
		n := 0
		check(db.QueryRow("select").Scan(&n))
	}
}
