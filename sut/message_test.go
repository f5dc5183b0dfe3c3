package sut

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tandem-mc/tandem/proxy"
)

func drawMessage(t *rapid.T, network proxy.Network) Message {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return Message{Errno: rapid.IntRange(1, 133).Draw(t, "errno"), Failed: rapid.Bool().Draw(t, "failed")}
	case 1:
		if network == proxy.Unixgram {
			path := rapid.SliceOfN(rapid.Byte(), 1, proxy.MaxPath).Draw(t, "path")
			return Message{Address: proxy.Address{Network: network, Path: string(path)},
				Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		}
		if network == proxy.UDP {
			ip := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip"))).Unmap()
			at := netip.AddrPortFrom(ip, rapid.Uint16().Draw(t, "port"))
			return Message{Address: proxy.Address{Network: network, At: at},
				Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		}
	}
	return Message{Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
}

// TestMessagesSurvive: messages that follow one another are read as they were written, each by
// itself; and none is the beginning of another one, on which the bounds of messages in the cache
// rest.
func TestMessagesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		network := rapid.SampledFrom([]proxy.Network{proxy.UDP, proxy.Unixgram, proxy.Unixpacket}).Draw(t,
			"network")
		var all []Message
		var texts [][]byte
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			m := drawMessage(t, network)
			all, texts = append(all, m), append(texts, m.Append(nil))
		}
		rest := slices.Concat(texts...)
		for i, want := range all {
			var got Message
			var ok bool
			if got, rest, ok = ReadMessage(rest, network); !ok || !bytes.Equal(got.Append(nil), texts[i]) ||
				!bytes.Equal(got.Data, want.Data) || got.Address != want.Address {
				t.Fatalf("message %d is %+v, %v, want %+v", i, got, ok, want)
			}
			for j := range texts {
				if !bytes.Equal(texts[i], texts[j]) && bytes.HasPrefix(texts[i], texts[j]) {
					t.Fatalf("%x begins with %x", texts[i], texts[j])
				}
			}
		}
		if len(rest) > 0 {
			t.Fatalf("%d bytes are left", len(rest))
		}
	})
}

// FuzzMessage reads messages that nobody has written: what is one is written as it was.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(Message{Data: []byte("data")}.Append(nil)), uint8(proxy.UDP))
	f.Add(Message{Data: []byte("data"), Address: proxy.Address{Network: proxy.UDP,
		At: netip.MustParseAddrPort("127.0.0.1:53")}}.Append(nil), uint8(proxy.UDP))
	f.Add(Message{Address: proxy.Address{Network: proxy.Unixgram, Path: "/x"}}.Append(nil),
		uint8(proxy.Unixgram))
	f.Add(Message{Errno: 111, Failed: true}.Append(nil), uint8(proxy.Unixpacket))
	f.Add([]byte("d\x00\xff\xff\xff\xff"), uint8(proxy.UDP))
	f.Add([]byte("i\x12\x00\x00\x00\x00"), uint8(proxy.UDP))
	f.Fuzz(func(t *testing.T, b []byte, network uint8) {
		m, rest, ok := ReadMessage(b, proxy.Network(network))
		if again := m.Append(nil); ok && !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Errorf("%x is %+v, which is written as %x", b, m, again)
		}
	})
}
