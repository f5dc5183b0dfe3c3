package syscall

import _ "unsafe"

// The program's machine has no name server. Names are in its hosts file; for all
// others a question is answered with: there is no such name.

const tandemDomainPort = 53

//go:linkname tandemHosts
func tandemHosts() string

// tandemIsResolver reports whether a file of /etc says how names are looked up:
// then the machine's own is not shown.
func tandemIsResolver(name string) bool {
	switch name {
	case "hosts", "resolv.conf", "nsswitch.conf", "host.conf", "mdns.allow":
		return true
	}
	return false
}

// tandemResolver makes such a file; there are no others than these two.
func tandemResolver(name string) *tandemNode {
	text := ""
	switch name {
	case "hosts":
		text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n" + tandemHosts() + "\n"
	case "nsswitch.conf":
		text = "hosts: files dns\n"
	default:
		return nil
	}
	n := &tandemNode{number: tandemNamed(0, "/etc/"+name), mode: S_IFREG | 0o644, links: 1, reader: -1}
	n.stamp()
	n.writeAt([]byte(text), 0)
	return n
}

// tandemNoSuchName answers a question of the domain name system (RFC 1035).
// It returns nil for what is no question.
func tandemNoSuchName(question []byte) []byte {
	const (
		header    = 12
		response  = 0x80 // in the third byte
		recursion = 0x80 // available, in the fourth
		noName    = 3    // response code
	)
	if len(question) < header || question[2]&response != 0 {
		return nil
	}
	end := header
	for end < len(question) && question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 1 + 4 // the root label, type and class
	if end > len(question) {
		return nil
	}
	answer := append([]byte(nil), question[:end]...)
	answer[2] |= response
	answer[3] = recursion | noName
	answer[5] = 1           // one question
	clear(answer[6:header]) // and no records
	return answer
}
