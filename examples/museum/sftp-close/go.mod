module example.com/museum/sftp-close

go 1.26

require (
	github.com/pkg/sftp v1.10.1
	golang.org/x/crypto v0.0.0-20201221181555-eec23a3978ad
)

require (
	github.com/kr/fs v0.1.0 // indirect
	github.com/pkg/errors v0.8.1 // indirect
	golang.org/x/sys v0.0.0-20191026070338-33540a1f6037 // indirect
)
