package peers

import _ "embed"

// Profiles of clients: peers that are started when the program listens, ask, and end.

// The key of a user, in Dropbear's format: public by intention, it is to open nothing but what is checked.
//
//go:embed profiles/client_key.dropbear
var clientKey []byte

const clientPublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEUp0153SIPFMkUWXmRi0nurksdpGCHkrDJPkHRy0wY tandem"

// What clients ask where they have no arguments.
func page(at place) []string { return []string{"http://" + SUT + ":" + at.port + "/"} }
func success(place) []string { return []string{"true"} }
func ping(at place) []string {
	if at.program != nil {
		return nil
	}
	return []string{"ping"}
}

// asking is a client: its random numbers are the same in all runs, and its time-outs do not end
// because a check takes long.
func asking(command ...string) Peer {
	return Peer{Choices: 1, VirtualClock: true, Command: command}
}

// -q: no .curlrc.
func curl(place) Group {
	return one(asking("curl", "-q", "--silent", "--show-error"))
}

// -y -y: any host key will do; -T: no terminal. Who logs in may have any name, or the key.
func dbclient(at place) Group {
	return one(
		asking("dbclient", "-y", "-y", "-T", "-i", at.own+"/key", "-p", at.port, "tandem@"+SUT),
		File{Path: at.own + "/key", Content: clientKey, Mode: 0o600},
		at.file("key.pub", 0o644, clientPublicKey))
}

// Commands that are not in the arguments are read from standard input.
func redisCLI(at place) Group {
	command := []string{"redis-cli", "-h", SUT, "-p", at.port}
	if at.program == nil {
		return one(asking(command...))
	}
	return one(
		asking(append([]string{"sh", "-c", `exec "$@" <"$0"`, at.own + "/commands"}, command...)...),
		File{Path: at.own + "/commands", Content: at.program, Mode: 0o644})
}
