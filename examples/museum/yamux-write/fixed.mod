module example.com/museum/yamux-write

go 1.26

require github.com/hashicorp/yamux v0.1.1
