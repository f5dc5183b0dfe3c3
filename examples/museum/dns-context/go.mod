module example.com/museum/dns-context

go 1.26

require github.com/miekg/dns v1.1.43

require (
	golang.org/x/net v0.0.0-20210226172049-e18ecbb05110 // indirect
	golang.org/x/sys v0.0.0-20210303074136-134d130e1a04 // indirect
)
