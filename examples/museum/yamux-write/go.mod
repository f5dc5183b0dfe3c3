module example.com/museum/yamux-write

go 1.26

require github.com/hashicorp/yamux v0.0.0-20190923154419-df201c70410d
