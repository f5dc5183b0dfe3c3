module example.com/museum/mysql-cancel

go 1.26

require github.com/go-sql-driver/mysql v1.8.0

require filippo.io/edwards25519 v1.1.0 // indirect
