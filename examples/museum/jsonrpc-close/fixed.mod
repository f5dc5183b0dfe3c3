module example.com/museum/jsonrpc-close

go 1.26

require github.com/sourcegraph/jsonrpc2 v0.2.3
