module example.com/museum/ssh-server

go 1.26

require github.com/gliderlabs/ssh v0.3.7

require (
	github.com/anmitsu/go-shlex v0.0.0-20200514113438-38f4b401e2be // indirect
	golang.org/x/crypto v0.17.0 // indirect
	golang.org/x/sys v0.15.0 // indirect
)
