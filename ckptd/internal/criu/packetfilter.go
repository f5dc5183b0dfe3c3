package criu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/internal/sys/netlink"
)

// While CRIU brings a group back, no packets arrive in its network but those that CRIU makes
// itself. It gives a connection back the end of a stream by a segment with FIN, as if from the
// other end. The acknowledgement would reach that other end before it is there, or where nobody
// has it any more, and the kernel would reset the connection: what was the end of a stream would
// be a reset after the restore. CRIU counts on a network that is locked like this one, but leaves
// a network that it has not made itself as it is.

// criuMark is on the packets that CRIU makes: SOCCR_MARK in its soccr/soccr.h. Packets without it
// are those of the group, and of nobody else: the network is its own.
const criuMark = 0xC114

// Of linux/netfilter.h and nfnetlink.h.
const (
	verdictDrop       = 0 // NF_DROP
	filterHeaderBytes = 4 // struct nfgenmsg
)

var (
	holdingTable = []byte("tandem\x00")
	holdingChain = []byte("arriving\x00")
)

// HoldPackets makes the network of the calling thread drop all that arrives without criuMark.
//
// The rule has three steps: load the mark of the packet into a register, go on if it is another one
// than CRIU's, and drop the packet.
func HoldPackets() error {
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	register, mark := number(unix.NFT_REG_1), binary.NativeEndian.AppendUint32(nil, criuMark)
	hook := slices.Concat(netlink.Attribute(unix.NFTA_HOOK_HOOKNUM, number(unix.NF_INET_LOCAL_IN)),
		netlink.Attribute(unix.NFTA_HOOK_PRIORITY, number(0)))
	drop := netlink.Nested(unix.NFTA_DATA_VERDICT,
		netlink.Attribute(unix.NFTA_VERDICT_CODE, number(verdictDrop)))
	rule := slices.Concat(
		expression("meta", netlink.Attribute(unix.NFTA_META_DREG, register),
			netlink.Attribute(unix.NFTA_META_KEY, number(unix.NFT_META_MARK))),
		expression("cmp", netlink.Attribute(unix.NFTA_CMP_SREG, register),
			netlink.Attribute(unix.NFTA_CMP_OP, number(unix.NFT_CMP_NEQ)),
			netlink.Nested(unix.NFTA_CMP_DATA, netlink.Attribute(unix.NFTA_DATA_VALUE, mark))),
		expression("immediate", netlink.Attribute(unix.NFTA_IMMEDIATE_DREG, number(unix.NFT_REG_VERDICT)),
			netlink.Nested(unix.NFTA_IMMEDIATE_DATA, drop)),
	)
	err := filterRequest(
		filterMessage{unix.NFT_MSG_NEWTABLE, netlink.Attribute(unix.NFTA_TABLE_NAME, holdingTable)},
		filterMessage{unix.NFT_MSG_NEWCHAIN, slices.Concat(
			netlink.Attribute(unix.NFTA_CHAIN_TABLE, holdingTable),
			netlink.Attribute(unix.NFTA_CHAIN_NAME, holdingChain),
			netlink.Nested(unix.NFTA_CHAIN_HOOK, hook), netlink.Attribute(unix.NFTA_CHAIN_TYPE,
				[]byte("filter\x00")))},
		filterMessage{unix.NFT_MSG_NEWRULE, slices.Concat(
			netlink.Attribute(unix.NFTA_RULE_TABLE, holdingTable),
			netlink.Attribute(unix.NFTA_RULE_CHAIN, holdingChain),
			netlink.Nested(unix.NFTA_RULE_EXPRESSIONS, rule))},
	)
	if err != nil {
		return fmt.Errorf(
			"hold packets back while CRIU brings a group back (that takes a kernel with nf_tables: try "+
				"`modprobe nf_tables`): %w", err)
	}
	return nil
}

// ReleasePackets ends HoldPackets. With the table all that is in it goes.
func ReleasePackets() error {
	if err := filterRequest(filterMessage{unix.NFT_MSG_DELTABLE,
		netlink.Attribute(unix.NFTA_TABLE_NAME, holdingTable)}); err != nil {
		return fmt.Errorf("let packets reach a group again: %w", err)
	}
	return nil
}

// filterMessage is a change of the packet filter.
type filterMessage struct {
	kind uint16 // NFT_MSG_
	body []byte
}

// filterRequest makes changes to the packet filter of the calling thread's network: all or none.
// The kernel takes changes of the filter in a batch, and answers each of them.
func filterRequest(changes ...filterMessage) error {
	request := filterHeader(unix.NFNL_MSG_BATCH_BEGIN, 0, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil)
	for _, c := range changes {
		kind := unix.NFNL_SUBSYS_NFTABLES<<8 | c.kind
		request = append(request, filterHeader(kind, unix.NLM_F_ACK|unix.NLM_F_CREATE, unix.NFPROTO_INET, 0,
			c.body)...)
	}
	request = append(request, filterHeader(unix.NFNL_MSG_BATCH_END, 0, unix.AF_UNSPEC,
		unix.NFNL_SUBSYS_NFTABLES, nil)...)
	return netlink.Exchange(unix.NETLINK_NETFILTER, request, len(changes))
}

// filterHeader puts the headers of netlink and of its netfilter part before a message. Numbers of
// netfilter are big endian, those of netlink are the processor's.
func filterHeader(kind, flags uint16, family byte, resource uint16, body []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+filterHeaderBytes+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST)
	m = append(m, make([]byte, 8)...) // sequence number and port, which the kernel fills
	m = append(m, family, unix.NFNETLINK_V0)
	m = binary.BigEndian.AppendUint16(m, resource)
	return append(m, body...)
}

// expression is one step of a rule: its name and its attributes.
func expression(name string, data ...[]byte) []byte {
	return netlink.Nested(unix.NFTA_LIST_ELEM,
		slices.Concat(netlink.Attribute(unix.NFTA_EXPR_NAME, append([]byte(name), 0)),
			netlink.Nested(unix.NFTA_EXPR_DATA, slices.Concat(data...))))
}
