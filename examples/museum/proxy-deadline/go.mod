module example.com/museum/proxy-deadline

go 1.26

require github.com/pires/go-proxyproto v0.6.1
