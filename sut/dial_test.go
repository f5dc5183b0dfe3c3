package sut

import (
	"net/netip"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/proxy"
	"github.com/tandem-mc/tandem/sut/internal/abi"
)

// name is what a worker records of a name.
func name(flags uint8, text string, errno syscall.Errno) (list []Event) {
	for at := 0; at == 0 || at < len(text); at += 16 {
		var b [16]byte
		copy(b[:], text[at:])
		list = append(list, ipEvent(flags, b, uint32(errno)<<16|uint32(len(text))))
		flags |= abi.DialMore
	}
	return list
}

func ipEvent(flags uint8, b [16]byte, number uint32) Event {
	e := Event{Kind: Dialled, Ready: flags, Number: number}
	for i := range 8 {
		e.Subject, e.Object = e.Subject<<8|uint64(b[i]), e.Object<<8|uint64(b[8+i])
	}
	return e
}

// TestDialAt: an address, and a name of any length, are read as they were recorded.
func TestDialAt(t *testing.T) {
	mapped := netip.MustParseAddr("::ffff:127.0.0.1").As16()
	e := ipEvent(abi.NetworkUDP|abi.DialOwn, mapped, uint32(syscall.ECONNREFUSED)<<16|53)
	want := Dial{Own: true, Result: syscall.ECONNREFUSED,
		Address: proxy.Address{Network: proxy.UDP, At: netip.MustParseAddrPort("127.0.0.1:53")}}
	if got, ok := DialAt([]Event{e}, 0); !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 255).Draw(t, "name"))
		flags := rapid.SampledFrom([]uint8{abi.DialName, abi.NetworkUnix, abi.NetworkUnixgram,
			abi.NetworkUnix | abi.DialServes}).Draw(t, "flags")
		before := rapid.IntRange(0, 2).Draw(t, "before")
		events := append(make([]Event, before), name(flags, text, syscall.ENOENT)...)
		end := len(events)
		events = append(events, name(abi.DialName, "another", 0)...)
		events = append(events, Event{Kind: Stepped})
		got, ok := DialAt(events, before)
		want := Dial{Result: syscall.ENOENT, Serves: flags&abi.DialServes != 0}
		if network := flags & abi.DialNetwork; network == abi.DialName {
			want.Name = text
		} else {
			want.Address = proxy.Address{Network: proxy.Network(network), Path: text}
		}
		if got != want || !ok {
			t.Fatalf("%+v, want %+v", got, want)
		}
		for i := before + 1; i < end; i++ {
			if d, ok := DialAt(events, i); ok {
				t.Fatalf("event %d of a name is %+v", i-before, d)
			}
		}
	})
	cut := name(abi.DialName, "a name of more than sixteen bytes", 0)[:1]
	if got, ok := DialAt(cut, 0); !ok || got.Name != "a name of more t" {
		t.Errorf("of a log that is cut off: %+v", got)
	}
	if d, ok := DialAt([]Event{{Kind: Dialled, Ready: abi.DialName + 1}}, 0); ok {
		t.Errorf("an unknown network: %+v", d)
	}
}
