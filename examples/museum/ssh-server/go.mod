module example.com/museum/ssh-server

go 1.26

require github.com/gliderlabs/ssh v0.3.5

require (
	github.com/anmitsu/go-shlex v0.0.0-20200514113438-38f4b401e2be // indirect
	golang.org/x/crypto v0.0.0-20220826181053-bd7e27e6170d // indirect
	golang.org/x/sys v0.0.0-20220825204002-c680a09ffe64 // indirect
)
