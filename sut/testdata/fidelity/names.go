package main

import (
	"context"
	"errors"
	"net"
	"slices"
)

func names() {
	addresses, err := net.LookupHost("localhost")
	say("localhost", slices.Contains(addresses, "127.0.0.1"), err)
	var missing *net.DNSError
	_, err = net.LookupHost("no-such-name.invalid")
	say("no such name", errors.As(err, &missing) && missing.IsNotFound)
	_, err = net.DefaultResolver.LookupIPAddr(context.Background(), "127.0.0.1")
	say("literal", err)
	l := must(net.Listen("tcp", "localhost:0"))
	_, port := two(net.SplitHostPort(l.Addr().String()))
	c, err := net.Dial("tcp", net.JoinHostPort("localhost", port))
	say("dial by name", err)
	say("close by name", c.Close(), l.Close())
	lo, err := net.InterfaceByName("lo")
	say("loopback", lo.Name, lo.MTU, lo.Flags&(net.FlagUp|net.FlagLoopback), err)
	list, err := lo.Addrs()
	say("loopback addresses", len(list) > 0 && list[0].String() == "127.0.0.1/8", err)
}
