package openfiles

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/tandem-mc/tandem/ckptd/internal/incarnation"
)

// TestConnectEnds finds the two ends of connections by their addresses, in whatever form.
func TestConnectEnds(t *testing.T) {
	at := netip.MustParseAddrPort
	server, client, mapped := at("127.0.0.1:80"), at("127.0.0.1:9"), at("[::ffff:127.0.0.1]:9")
	listening := func() *socket { return &socket{state: tcpListen, local: server, other: -1} }
	end := func(state uint8, local, remote netip.AddrPort) *socket {
		return &socket{state: state, local: local, remote: remote, other: -1}
	}
	for name, test := range map[string]struct {
		all  []*socket
		want []int // the other ends; nil: it is refused
	}{
		"nobody is connected": {[]*socket{listening()}, []int{-1}},
		"a connection": {[]*socket{end(tcpEstablished, client, server), listening(),
			end(tcpEstablished, server, client)}, []int{2, -1, 0}},
		"an end in version 6": {[]*socket{end(tcpEstablished, mapped, server),
			end(tcpEstablished, server, client)}, []int{1, 0}},
		"one end has gone":        {[]*socket{end(tcpCloseWait, server, client)}, []int{-1}},
		"one end is elsewhere":    {[]*socket{end(tcpEstablished, server, client)}, nil},
		"half of it is elsewhere": {[]*socket{end(tcpFinWait2, server, client)}, nil},
	} {
		err := connectEnds(test.all)
		if test.want == nil {
			if !errors.Is(err, incarnation.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n, s := range test.all {
			if s.other != test.want[n] {
				t.Errorf("%s: the other end of %d is %d", name, n, s.other)
			}
		}
	}
}

// TestOtherEnd stands in for an end that nobody has any more.
func TestOtherEnd(t *testing.T) {
	at := netip.MustParseAddrPort
	s := &socket{state: tcpCloseWait, local: at("127.0.0.1:80"), remote: at("127.0.0.1:9"), other: -1,
		scales: [2]uint32{7, 8}}
	o := s.otherEnd([]*socket{s})
	if o.state != tcpFinWait2 || o.local != s.remote || o.remote != s.local || o.scales != [2]uint32{8, 7} {
		t.Errorf("the other end is %+v", o)
	}
	s.state = tcpClose
	if o := s.otherEnd([]*socket{s}); o.state != tcpClose || o.local != nowhere {
		t.Errorf("the other end of what has ended is %+v", o)
	}
	known := &socket{other: 0}
	s.other = 1
	if o := s.otherEnd([]*socket{s, known}); o != known {
		t.Errorf("the other end is %+v, and not the one that there is", o)
	}
}
